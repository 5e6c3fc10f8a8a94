//! Puts all mutants of a source file behind switches, so that one build contains all of them.
//!
//! `a < b` with the mutants 7 (`<=`) and 8 (`>`) becomes
//! `(match crate::mutation::active(7) { 7 => a <= b, 8 => a > b, _ => a < b })`. At most one mutant is active in a process,
//! so the alternatives contain the original source.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::generated::{Mutant, MutantKind};
use crate::Outcome;

/// The module that every rewritten crate needs.
pub(crate) const MODULE: &str = include_str!("switch/mutation.rs.txt");
pub(crate) const MODULE_NAME: &str = "mutation";

/// Identifies a mutant in one build.
pub(crate) type Id = usize;

/// A source file with switches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RewrittenSource {
    pub(crate) text: String,
    switches: Vec<Switch>,
    /// Mutants that this file cannot switch to.
    pub(crate) left_out: Vec<Id>,
}

/// One `match` over the active mutant.
#[derive(Debug, PartialEq, Eq)]
struct Switch {
    /// The range of the whole `match` in the new text.
    range: Range<usize>,
    /// The mutants, and the ranges of their alternatives.
    alternatives: Vec<(Id, Range<usize>)>,
}

impl RewrittenSource {
    /// Returns the mutants that a compile error at this byte belongs to: one alternative, or the whole
    /// innermost switch.
    pub(crate) fn at(&self, byte: usize) -> Vec<Id> {
        let around = self.switches.iter().filter(|switch| switch.range.contains(&byte));
        let Some(innermost) = around.min_by_key(|switch| switch.range.len()) else {
            return Vec::new();
        };
        let mut alternatives = innermost.alternatives.iter();
        match alternatives.find(|(_, range)| range.contains(&byte)) {
            Some((id, _)) => vec![*id],
            None => innermost.alternatives.iter().map(|(id, _)| *id).collect(),
        }
    }

    /// Returns, for each mutant, the number that its switch reports when it is reached.
    pub(crate) fn switch_numbers(&self) -> impl Iterator<Item = (Id, Id)> {
        self.switches.iter().flat_map(|switch| {
            let first = switch.alternatives.first().map(|(id, _)| *id);
            let alternatives = switch.alternatives.iter();
            alternatives.filter_map(move |(id, _)| Some((*id, first?)))
        })
    }
}

/// Rewrites a source so that each of these mutants can be activated.
pub(crate) fn rewrite(source: &str, mutants: &[(Id, &Mutant)]) -> Outcome<RewrittenSource> {
    let mut places = Places {
        source,
        waiting: HashMap::new(),
        edits: Vec::new(),
    };
    for (id, mutant) in mutants {
        let range = mutant.range_in(source)?;
        places.waiting.entry(range.start).or_default().push((*id, mutant));
    }
    places.visit_file(&syn::parse_file(source)?);
    let left_out = places.waiting.values().flatten().map(|(id, _)| *id).collect();
    Ok(write(source, places.edits, left_out))
}

/// Text to insert around a range of the source.
struct Edit {
    range: Range<usize>,
    before: &'static str,
    alternatives: Vec<(Id, String)>,
    /// The alternative without an active mutant: the text in the range, or nothing if the range is empty.
    otherwise: &'static str,
    after: &'static str,
}

struct Places<'s> {
    source: &'s str,
    /// Mutants that were not placed yet, by the first byte that they replace.
    waiting: HashMap<usize, Vec<(Id, &'s Mutant)>>,
    edits: Vec<Edit>,
}

impl<'s> Places<'s> {
    fn take(&mut self, start: usize, genre: MutantKind) -> Vec<(Id, &'s Mutant)> {
        let Some(waiting) = self.waiting.get_mut(&start) else {
            return Vec::new();
        };
        let taken = waiting.extract_if(.., |(_, mutant)| mutant.genre == genre);
        taken.collect()
    }

    /// Selects between an expression and its mutants.
    fn choose(&mut self, start: usize, genre: MutantKind, range: Range<usize>) {
        let mut alternatives = Vec::new();
        for (id, mutant) in self.take(start, genre) {
            let Ok(place) = mutant.range_in(self.source) else {
                continue;
            };
            let before = &self.source[range.start..place.start];
            let after = &self.source[place.end..range.end];
            alternatives.push((id, format!("{before}{}{after}", mutant.replacement)));
        }
        self.add(range, "(", alternatives, "", ")");
    }

    fn add(
        &mut self,
        range: Range<usize>,
        before: &'static str,
        alternatives: Vec<(Id, String)>,
        otherwise: &'static str,
        after: &'static str,
    ) {
        if !alternatives.is_empty() {
            self.edits.push(Edit {
                range,
                before,
                alternatives,
                otherwise,
                after,
            });
        }
    }

    /// Adds a guard to an arm that a mutant makes false.
    fn delete_arm(&mut self, arm: &syn::Arm) {
        let deleted = self.take(arm.span().byte_range().start, MutantKind::MatchArm);
        let deleted = deleted.into_iter().map(|(id, _)| (id, "false".to_owned()));
        if let Some((_, guard)) = &arm.guard {
            self.add(guard.span().byte_range(), "(", deleted.collect(), "", ")");
        } else {
            let end = arm.pat.span().byte_range().end;
            self.add(end..end, " if ", deleted.collect(), "true", " ");
        }
    }

    /// Returns early with the value of a mutant.
    fn return_early(&mut self, block: &syn::Block) {
        let Some(first) = block.stmts.first() else {
            return;
        };
        let start = first.span().byte_range().start;
        let values = self.take(start, MutantKind::FnValue).into_iter();
        let alternatives = values.map(|(id, mutant)| (id, format!("return {}", mutant.replacement)));
        self.add(start..start, "", alternatives.collect(), "{}", "");
    }
}

impl<'ast> Visit<'ast> for Places<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.return_early(&item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.return_early(&item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.return_early(block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        // `let` is allowed in a chain of conditions, but not inside a `match`.
        if !has_let(&expression.left) && !has_let(&expression.right) {
            let operator = expression.op.span().byte_range().start;
            self.choose(
                operator,
                MutantKind::BinaryOperator,
                expression.span().byte_range(),
            );
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let operator = expression.op.span().byte_range().start;
        self.choose(
            operator,
            MutantKind::UnaryOperator,
            expression.span().byte_range(),
        );
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        for field in &expression.fields {
            let start = field.span().byte_range().start;
            self.choose(start, MutantKind::StructField, expression.span().byte_range());
        }
        visit::visit_expr_struct(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        // Guards do not count towards exhaustiveness, so another arm must match everything.
        let has_default = expression.arms.iter().any(|arm| {
            // Variants such as `None` look like variables, except for their first letter.
            let matches_all = match &arm.pat {
                syn::Pat::Wild(_) => true,
                syn::Pat::Ident(name) => name.ident.to_string().starts_with(char::is_lowercase),
                _ => false,
            };
            matches_all && arm.guard.is_none()
        });
        for arm in &expression.arms {
            if has_default {
                self.delete_arm(arm);
            }
            if let Some((_, guard)) = &arm.guard {
                let range = guard.span().byte_range();
                self.choose(range.start, MutantKind::MatchArmGuard, range);
            }
        }
        visit::visit_expr_match(self, expression);
    }
}

fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Writes the source with all edits, outer ones around inner ones.
fn write(source: &str, mut edits: Vec<Edit>, left_out: Vec<Id>) -> RewrittenSource {
    // Empty ranges first: other edits at the same byte follow.
    edits.sort_by_key(|edit| {
        let Range { start, end } = edit.range;
        (start, start != end, std::cmp::Reverse(end))
    });
    let mut switched = RewrittenSource {
        left_out,
        ..RewrittenSource::default()
    };
    let mut open: Vec<(usize, &Edit)> = Vec::new();
    let mut copied = 0;
    for edit in &edits {
        while let Some((at, outer)) = open.pop_if(|(_, outer)| outer.range.end <= edit.range.start) {
            switched.close(at, outer, source, &mut copied);
        }
        switched.text.push_str(&source[copied..edit.range.start]);
        copied = edit.range.start;
        let at = switched.open(edit);
        open.push((at, edit));
        if edit.range.is_empty() {
            open.pop();
            switched.close(at, edit, source, &mut copied);
        }
    }
    while let Some((at, outer)) = open.pop() {
        switched.close(at, outer, source, &mut copied);
    }
    switched.text.push_str(&source[copied..]);
    switched
}

impl RewrittenSource {
    fn open(&mut self, edit: &Edit) -> usize {
        let start = self.text.len();
        let first = edit.alternatives.first().map_or(0, |(id, _)| *id);
        let _ = write!(
            self.text,
            "{}match crate::{MODULE_NAME}::active({first}) {{ ",
            edit.before
        );
        let mut alternatives = Vec::new();
        for (id, alternative) in &edit.alternatives {
            let _ = write!(self.text, "{id} => ");
            let start = self.text.len();
            let _ = write!(self.text, "{{ {alternative} }}");
            alternatives.push((*id, start..self.text.len()));
            self.text.push(' ');
        }
        let _ = write!(self.text, "_ => {}", edit.otherwise);
        self.switches.push(Switch {
            range: start..start,
            alternatives,
        });
        self.switches.len() - 1
    }

    fn close(&mut self, at: usize, edit: &Edit, source: &str, copied: &mut usize) {
        self.text.push_str(&source[*copied..edit.range.end]);
        *copied = edit.range.end;
        let _ = write!(self.text, " }}{}", edit.after);
        self.switches[at].range.end = self.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(genre: MutantKind, source: &str, place: &str, replacement: &str) -> Outcome<Mutant> {
        let start = source.find(place).ok_or("unknown position")?;
        let line = source[..start].matches('\n').count() + 1;
        let column = start - source[..start].rfind('\n').map_or(0, |at| at + 1) + 1;
        let mut mutant = Mutant::for_test(
            "a.rs",
            (1, 9),
            (line, column),
            (line, column + place.len()),
            replacement,
        );
        mutant.genre = genre;
        Ok(mutant)
    }

    fn switched(source: &str, mutants: &[Mutant]) -> Outcome<RewrittenSource> {
        let mutants: Vec<(Id, &Mutant)> = mutants.iter().enumerate().collect();
        rewrite(source, &mutants)
    }

    #[test]
    fn nested_operators_have_switches() -> Outcome {
        let source = "fn f(a: u8) -> bool { !(a < 2) && a != 1 }";
        let mutants = [
            mutant(MutantKind::BinaryOperator, source, "<", ">")?,
            mutant(MutantKind::BinaryOperator, source, "&&", "||")?,
            mutant(MutantKind::UnaryOperator, source, "!", "")?,
        ];
        assert_eq!(
            switched(source, &mutants)?.text,
            "fn f(a: u8) -> bool { (match crate::mutation::active(1) { 1 => { !(a < 2) || a != 1 } _ => \
             (match crate::mutation::active(2) { 2 => { (a < 2) } _ => \
             !((match crate::mutation::active(0) { 0 => { a > 2 } _ => a < 2 })) }) && a != 1 }) }"
        );
        Ok(())
    }

    #[test]
    fn values_are_returned_early_and_arms_get_guards() -> Outcome {
        let source = "fn f(a: u8) -> u8 { match a { 1 => 2, 3 if a > 2 => 4, _ => 5 } }";
        let mutants = [
            mutant(
                MutantKind::FnValue,
                source,
                "match a { 1 => 2, 3 if a > 2 => 4, _ => 5 }",
                "0",
            )?,
            mutant(MutantKind::MatchArm, source, "1 => 2,", "")?,
            mutant(MutantKind::MatchArm, source, "3 if a > 2 => 4,", "")?,
            mutant(MutantKind::MatchArmGuard, source, "a > 2", "true")?,
        ];
        assert_eq!(
            switched(source, &mutants)?.text,
            "fn f(a: u8) -> u8 { match crate::mutation::active(0) { 0 => { return 0 } _ => {} }match a { \
             1 if match crate::mutation::active(1) { 1 => { false } _ => true }  => 2, \
             3 if (match crate::mutation::active(2) { 2 => { false } _ => \
             (match crate::mutation::active(3) { 3 => { true } _ => a > 2 }) }) => 4, _ => 5 } }"
        );
        Ok(())
    }

    #[test]
    fn chains_with_let_are_left_out() -> Outcome {
        let source = "fn f(a: Maybe) { if let Some(a) = a && a < 2 { g() } }";
        let mutants = [
            mutant(MutantKind::BinaryOperator, source, "&&", "||")?,
            mutant(MutantKind::BinaryOperator, source, "<", ">")?,
        ];
        let switched = switched(source, &mutants)?;
        assert_eq!(switched.left_out, [0]);
        assert!(switched.text.contains("&& (match crate::mutation::active(1)"));
        Ok(())
    }

    #[test]
    fn errors_belong_to_an_alternative_or_to_the_switch() -> Outcome {
        let source = "const A: u8 = 1 + 2;";
        let mutants = [
            mutant(MutantKind::BinaryOperator, source, "+", "-")?,
            mutant(MutantKind::BinaryOperator, source, "+", "*")?,
        ];
        let switched = switched(source, &mutants)?;
        let at = |place: &str| switched.at(switched.text.find(place).unwrap_or(0));
        assert_eq!(at("1 * 2"), [1]);
        assert_eq!(at("crate::mutation"), [0, 1]);
        assert_eq!(at("const A"), [0; 0]);
        assert_eq!(switched.switch_numbers().collect::<Vec<_>>(), [(0, 0), (1, 0)]);
        Ok(())
    }
}
