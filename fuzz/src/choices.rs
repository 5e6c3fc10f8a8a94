//! Choices that the first bytes of an input make.

/// Bytes that are read as choices. When they are used up, every choice is the first.
#[derive(Clone, Debug)]
pub(crate) struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(crate) fn of(data: &'a [u8]) -> Choices<'a> {
        Choices { rest: data }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `n`, which is not zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// What has not been read.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }
}
