//! Choices from the first bytes of an input.

/// Bytes that are used as choices. When they are used up, every choice is the first one.
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

    /// Returns a number below `n`, which must not be zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the bytes that were not used.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }
}
