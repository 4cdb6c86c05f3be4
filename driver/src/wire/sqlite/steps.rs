//! Plans as trees of steps in lines.

use std::collections::HashMap;

/// Steps of SQLite plans as lines, each indented by two more blanks than its parent.
#[derive(Default)]
pub struct Steps {
    depths: HashMap<i64, usize>,
    lines: Vec<String>,
}

impl Steps {
    /// Add a step; one without a known `parent` is not indented.
    pub fn push(&mut self, id: Option<i64>, parent: Option<i64>, step: &str) {
        let above = parent.and_then(|parent| self.depths.get(&parent));
        let depth = above.map_or(0, |depth| depth + 1);
        self.depths.extend(id.map(|id| (id, depth)));
        self.lines.push("  ".repeat(depth) + step);
    }

    pub fn into_text(self) -> Option<String> {
        (!self.lines.is_empty()).then(|| self.lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_indented_below_their_parents() {
        let mut steps = Steps::default();
        steps.push(Some(5), Some(0), "CO-ROUTINE tree");
        steps.push(Some(6), Some(5), "SETUP");
        steps.push(Some(7), Some(6), "SCAN CONSTANT ROW");
        steps.push(Some(40), Some(0), "SCAN tree");
        let expected = "CO-ROUTINE tree\n  SETUP\n    SCAN CONSTANT ROW\nSCAN tree";
        assert_eq!(steps.into_text().as_deref(), Some(expected));
        let mut flat = Steps::default();
        flat.push(None, None, "SCAN t");
        flat.push(None, None, "USE TEMP B-TREE FOR ORDER BY");
        let expected = "SCAN t\nUSE TEMP B-TREE FOR ORDER BY";
        assert_eq!(flat.into_text().as_deref(), Some(expected));
        assert_eq!(Steps::default().into_text(), None);
    }
}
