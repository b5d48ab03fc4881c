//! License expressions of crates: SPDX, and `/` for OR as old crates write it.

/// Whether an expression can be fulfilled with allowed licenses. A license with an exception counts as one license.
pub(super) fn permits(expression: &str, allows: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), next: 0, allows };
    let permitted = words.any().ok_or_else(|| format!("cannot read {expression:?}"))?;
    if words.peek().is_some() { Err(format!("cannot read all of {expression:?}")) } else { Ok(permitted) }
}

struct Words<'a> {
    words: Vec<&'a str>,
    next: usize,
    allows: &'a dyn Fn(&str) -> bool,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn take(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.next += 1;
        Some(word)
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.next += usize::from(found);
        found
    }

    /// `a OR b`
    fn any(&mut self) -> Option<bool> {
        let mut permitted = self.all()?;
        while self.skip("OR") {
            permitted |= self.all()?;
        }
        Some(permitted)
    }

    /// `a AND b`, which binds more than OR.
    fn all(&mut self) -> Option<bool> {
        let mut permitted = self.one()?;
        while self.skip("AND") {
            permitted &= self.one()?;
        }
        Some(permitted)
    }

    /// `a`, `a WITH exception` or `(...)`
    fn one(&mut self) -> Option<bool> {
        if self.skip("(") {
            let permitted = self.any()?;
            return self.skip(")").then_some(permitted);
        }
        let is_name = |word: &&str| !["AND", "OR", "WITH", "(", ")"].contains(word);
        let license = self.take().filter(is_name)?;
        if self.skip("WITH") {
            let exception = self.take().filter(is_name)?;
            return Some((self.allows)(&format!("{license} WITH {exception}")));
        }
        Some((self.allows)(license))
    }
}

#[test]
fn expressions_are_fulfilled_by_allowed_licenses() {
    let allows = |license: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&license);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only/MIT", true),
        ("MIT / GPL-3.0-only", true),
        ("MIT AND GPL-3.0-only", false),
        ("MIT AND ISC", true),
        ("MIT OR GPL-3.0-only AND LGPL-2.1-only", true),
        ("(MIT OR GPL-3.0-only) AND LGPL-2.1-only", false),
        ("(LGPL-2.1-only OR MIT) AND ISC", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("MIT WITH LLVM-exception", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0-only", true),
    ] {
        assert_eq!(permits(expression, &allows), Ok(expected), "{expression}");
    }
    for wrong in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "MIT WITH OR"] {
        permits(wrong, &allows).expect_err(wrong);
    }
}
