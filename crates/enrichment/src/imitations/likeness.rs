//! Texts that look the same: names and symbols of tokens, which anyone can choose.

/// Letters that look like an ASCII one, without those of formulas and of wide, circled and squared letters, which are computed.
/// Of alphabets that people write; a text that mixes them with ASCII letters is disguised.
const FOREIGN: &[(char, &str)] = &[
    ('A', "ΑАᎪꓮᴀ"),
    ('B', "ΒВвᏴꓐʙЬьƁ"),
    ('C', "СϹᏟⅭꓚᴄ"),
    ('D', "ᎠꓓⅮᴅĐÐƉƊԀ"),
    ('E', "ΕЕᎬꓰᴇ"),
    ('F', "ꓝϜꜰҒ"),
    ('G', "ᏀꓖɢԌ"),
    ('H', "ΗНнᎻꓧʜ"),
    ('I', "ΙІᏆⅠꓲɪӀǀ"),
    ('J', "ЈᎫꓙᴊ"),
    ('K', "ΚКкᏦꓗᴋK"),
    ('L', "ᏞⅬꓡʟŁ"),
    ('M', "ΜМмᎷⅯꓟᴍ"),
    ('N', "ΝꓠɴƝ"),
    ('O', "ΟОᎾꓳᴏØՕ"),
    ('P', "ΡРᏢꓑᴘ"),
    ('Q', "ԚႭ"),
    ('R', "ᎡꓣʀᏒ"),
    ('S', "ЅᏚꓢꜱՏ"),
    ('T', "ΤТтᎢꓔᴛŦƬƮ"),
    ('U', "ꓴᴜՍ"),
    ('V', "ᏙⅤꓦᴠѴ"),
    ('W', "ᎳꓪᴡԜ"),
    ('X', "ΧХⅩꓫ"),
    ('Y', "ΥҮꓬʏУҮ"),
    ('Z', "ΖᏃꓜᴢ"),
    ('a', "аαɑ"),
    ('c', "сϲⅽ"),
    ('d', "ԁⅾđɗ"),
    ('e', "еєҽ"),
    ('f', "ƒք"),
    ('g', "ɡց"),
    ('h', "һհ"),
    ('i', "іιıⅰ"),
    ('j', "јϳյ"),
    ('k', "κ"),
    ('l', "ⅼłӏ"),
    ('m', "ⅿ"),
    ('n', "ηոп"),
    ('o', "оοσօø"),
    ('p', "рρ"),
    ('q', "ԛզ"),
    ('r', "г"),
    ('s', "ѕ"),
    ('t', "τŧ"),
    ('u', "υսμµ"),
    ('v', "νѵⅴ"),
    ('w', "ωԝա"),
    ('x', "хχⅹ"),
    ('y', "уγү"),
    ('0', "Ο߀"),
    ('3', "ЗзӠ"),
    ('6', "б"),
];

/// Letters with marks, and signs of currencies. Honest names have them, so that they disguise nothing.
const MARKED: &[(char, &str)] = &[
    ('A', "₳ÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦḀẠẢẤẦẨẪẬẮẰẲẴẶ"),
    ('B', "₿ḂḄḆ"),
    ('C', "₵ÇĆĈĊČḈ"),
    ('D', "ĎḊḌḎḐḒ"),
    ('E', "€ÈÉÊËĒĔĖĘĚȄȆȨḔḖḘḚḜẸẺẼẾỀỂỄỆ"),
    ('F', "Ḟ"),
    ('G', "ĜĞĠĢǦǴḠ"),
    ('H', "ĤȞḢḤḦḨḪ"),
    ('I', "ÌÍÎÏĨĪĬĮİǏȈȊḬḮỈỊ"),
    ('J', "Ĵ"),
    ('K', "₭ĶǨḰḲḴ"),
    ('L', "₤ĹĻĽḶḸḺḼ"),
    ('M', "ḾṀṂ"),
    ('N', "₦ÑŃŅŇǸṄṆṈṊ"),
    ('O', "ÒÓÔÕÖŌŎŐƠǑǪǬȌȎȪȬȮȰṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ"),
    ('P', "₱ṔṖ"),
    ('R', "ŔŖŘȐȒṘṚṜṞ"),
    ('S', "ŚŜŞŠȘṠṢṤṦṨ"),
    ('T', "₮ŢŤȚṪṬṮṰ"),
    ('U', "ÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖṲṴṶṸṺỤỦỨỪỬỮỰ"),
    ('V', "ṼṾ"),
    ('W', "₩ŴẀẂẄẆẈ"),
    ('X', "ẊẌ"),
    ('Y', "¥ÝŶŸȲẎỲỴỶỸ"),
    ('Z', "ŹŻŽẐẒẔ"),
    ('a', "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ"),
    ('b', "ḃḅḇ"),
    ('c', "çćĉċčḉ"),
    ('d', "ďḋḍḏḑḓ"),
    ('e', "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ"),
    ('f', "ḟ"),
    ('g', "ĝğġģǧǵḡ"),
    ('h', "ĥȟḣḥḧḩḫẖ"),
    ('i', "ìíîïĩīĭįǐȉȋḭḯỉị"),
    ('j', "ĵǰ"),
    ('k', "ķǩḱḳḵ"),
    ('l', "ĺļľḷḹḻḽ"),
    ('m', "ḿṁṃ"),
    ('n', "ñńņňǹṅṇṉṋ"),
    ('o', "òóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ"),
    ('p', "ṕṗ"),
    ('r', "ŕŗřȑȓṙṛṝṟ"),
    ('s', "śŝşšșṡṣṥṧṩẛ"),
    ('t', "ţťțṫṭṯṱẗ"),
    ('u', "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự"),
    ('v', "ṽṿ"),
    ('w', "ŵẁẃẅẇẉẘ"),
    ('x', "ẋẍ"),
    ('y', "ýÿŷȳẏẙỳỵỷỹ"),
    ('z', "źżžẑẓẕ"),
];

/// How a text looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Texts with the same key look the same. Empty for a text without letters and digits.
    pub(super) keys: Vec<String>,
    /// Whether it has characters that nobody sees, or letters that only look like the ASCII letters beside them.
    pub(super) is_disguised: bool,
}

impl Look {
    pub(super) fn of(text: &str) -> Self {
        let (mut plain, mut is_foreign, mut is_styled) = (String::with_capacity(text.len()), false, false);
        for char in text.chars() {
            let seen = if is_skipped(char) {
                is_styled |= is_invisible(char);
                continue;
            } else if char.is_ascii() {
                char
            } else if let Some(letter) = styled(char) {
                is_styled = true;
                letter
            } else if let Some(letter) = find(FOREIGN, char) {
                is_foreign = true;
                letter
            } else {
                find(MARKED, char).unwrap_or(char)
            };
            plain.push(seen);
        }
        if !plain.chars().any(char::is_alphanumeric) {
            return Self::default();
        }
        let has_ascii = text.chars().any(|char| char.is_ascii_alphanumeric());
        let mut keys = vec![format!("={}", plain.to_lowercase()), format!("~{}", drawn_alike(&plain))];
        keys.dedup();
        Self { keys, is_disguised: is_styled || (is_foreign && has_ascii) }
    }
}

/// ASCII characters of one shape, in the letter case in which they have it.
fn drawn_alike(text: &str) -> String {
    let one_by_one = |char| match char {
        'I' | '1' | '|' | '!' => 'l',
        '0' => 'O',
        '$' => 'S',
        char => char,
    };
    text.chars().map(one_by_one).collect::<String>().replace("rn", "m").replace("vv", "w")
}

/// Marks above and below letters, spaces and separators: names differ in them by chance.
fn is_skipped(char: char) -> bool {
    is_invisible(char)
        || char.is_whitespace()
        || matches!(char, '.' | '-' | '_' | '\'' | '"' | '\u{b7}' | '\u{2010}'..='\u{2019}' | '\u{300}'..='\u{36f}')
}

fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
}

fn find(table: &[(char, &str)], char: char) -> Option<char> {
    table.iter().find(|(_, alike)| alike.contains(char)).map(|(letter, _)| *letter)
}

/// Letters and digits of formulas, and wide, circled and squared ones.
fn styled(char: char) -> Option<char> {
    let code = u32::from(char);
    let from = |start: u32, first: char| char::from_u32(u32::from(first) + (code - start));
    match code {
        0xff10..=0xff19 => from(0xff10, '0'),
        0xff21..=0xff3a => from(0xff21, 'A'),
        0xff41..=0xff5a => from(0xff41, 'a'),
        0x24b6..=0x24cf => from(0x24b6, 'A'),
        0x24d0..=0x24e9 => from(0x24d0, 'a'),
        0x1f110..=0x1f129 => from(0x1f110, 'A'),
        0x1f130..=0x1f149 => from(0x1f130, 'A'),
        0x1f150..=0x1f169 => from(0x1f150, 'A'),
        0x1f170..=0x1f189 => from(0x1f170, 'A'),
        0x1d400..=0x1d6a3 => {
            let place = (code - 0x1d400) % 52;
            char::from_u32(if place < 26 { u32::from('A') + place } else { u32::from('a') + place - 26 })
        }
        0x1d7ce..=0x1d7ff => char::from_u32(u32::from('0') + (code - 0x1d7ce) % 10),
        _ => find(
            &[
                ('B', "ℬ"),
                ('C', "ℂℭ"),
                ('E', "ℰ"),
                ('F', "ℱ"),
                ('H', "ℋℌℍ"),
                ('I', "ℐℑ"),
                ('L', "ℒ"),
                ('M', "ℳ"),
                ('N', "ℕ"),
                ('P', "ℙ"),
                ('Q', "ℚ"),
                ('R', "ℛℜℝ"),
                ('Z', "ℤℨ"),
                ('e', "ℯ"),
                ('g', "ℊ"),
                ('l', "ℓ"),
                ('o', "ℴ"),
            ],
            char,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_alike(one: &str, other: &str) -> bool {
        let (one, other) = (Look::of(one), Look::of(other));
        one.keys.iter().any(|key| other.keys.contains(key))
    }

    #[test]
    fn texts_that_look_the_same_have_a_common_key() {
        for (one, other) in [
            ("USDC", "usdc"),
            ("USD Coin", "USDCoin"),
            ("USDT", "USD\u{422}"),
            ("USDC", "U\u{200b}SDC"),
            ("USDC", "\u{ff35}\u{ff33}\u{ff24}\u{ff23}"),
            ("USDC", "𝐔𝐒𝐃𝐂"),
            ("USDC", "U$DC"),
            ("LINK", "LlNK"),
            ("DAI", "DA1"),
            ("DOGE", "D0GE"),
            ("WETH", "WΕTH"),
            ("Tether USD", "\u{422}ether USD"),
            ("USDT", "USD\u{20ae}"),
            ("SHIB", "ShÍb"),
            ("Harbor Dollar", "Harbor\u{a0}DoIlar"),
            ("modern", "modem"),
            ("TAO", "ТАО"),
        ] {
            assert!(is_alike(one, other), "{one} {other} {:?} {:?}", Look::of(one), Look::of(other));
        }
    }

    #[test]
    fn other_texts_have_none() {
        for (one, other) in [
            ("USDC", "USDT"),
            ("AI", "AL"),
            ("BURN", "BUM"),
            ("USDC", "USDC.e"),
            ("", ""),
            ("...", "---"),
            ("代币", "币代"),
        ] {
            assert!(!is_alike(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_text_that_hides_its_letters_is_disguised() {
        for text in ["USD\u{422}", "US\u{200b}DC", "𝐔𝐒𝐃𝐂", "\u{ff35}SDT"] {
            assert!(Look::of(text).is_disguised, "{text}");
        }
        for text in ["USDC", "Ünïcörn", "USD₮", "ТАО", "代币", "🦄 Coin"] {
            assert!(!Look::of(text).is_disguised, "{text}");
        }
    }
}
