//! The forms of questions in which a plain word stands for an identifier: `where is parse defined?`.

use std::sync::LazyLock;

use regex::Regex;

use super::{Name, Want, reference};
use crate::offline::{pattern, words};

/// What a question is about, by its form.
pub(super) struct Subject {
    pub name: Name,
    /// Whether prose may be meant: `where is caching implemented?`.
    pub is_soft: bool,
}

/// What a prompt wants, by its form alone.
pub(super) fn want(text: &str) -> Want {
    let text = plain(text);
    if text.is_empty() || SMALL_TALK.is_match(&text) {
        Want::Nothing
    } else if direct(&text).is_some() {
        Want::Definition
    } else if USES.iter().any(|form| form.is_match(&text)) {
        Want::Uses
    } else if EXPLANATION.is_match(&text) {
        Want::Explanation
    } else if HARD.is_match(&text)
        || DEFINITIONS.iter().any(|form| form.is_match(&text))
        || text.split_whitespace().nth(1).is_none()
    {
        Want::Definition
    } else {
        Want::Explanation
    }
}

/// The one plain word that the form of the question makes its subject.
pub(super) fn plain_subject(text: &str) -> Option<Subject> {
    let text = plain(text);
    if SMALL_TALK.is_match(&text) {
        return None;
    }
    if let Some((name, _)) = direct(&text) {
        return Some(Subject { name, is_soft: false });
    }
    let is_hard = HARD.is_match(&text);
    let mut forms = USES.iter().chain(DEFINITIONS.iter());
    let by_form =
        forms.find_map(|form| subject(form.captures(&text)?.name("x")?.as_str(), is_hard));
    let alone =
        || text.split_whitespace().nth(1).is_none().then(|| subject(&text, is_hard)).flatten();
    let (name, has_kind) = by_form.or_else(alone).or_else(|| foreign(&text))?;
    let is_soft = !has_kind && !is_hard;
    Some(Subject { name, is_soft })
}

/// The kind of thing that a question calls its subject.
pub(super) fn kind_word(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.find(|word| KINDS.contains(&word.to_lowercase().as_str())).map(str::to_lowercase)
}

/// Whether it asks how to use the project, or what it is: for its documentation to answer.
pub(super) fn is_about_use(text: &str) -> bool {
    ABOUT_USE.is_match(&plain(text))
}

/// Whether it asks about the project as a whole.
pub(super) fn is_overview(text: &str) -> bool {
    OVERVIEW.is_match(&plain(text))
}

/// Without courtesies before it and punctuation behind it.
fn plain(text: &str) -> String {
    let text = text.replace('’', "'");
    let text = text.trim().trim_end_matches(|c: char| "?!. ;:？。".contains(c));
    COURTESY.replace(text, "").trim().to_owned()
}

/// What stands in the place of `x` in `where is x defined` is a name even if it is a word of prose, or one of
/// another script.
fn direct(text: &str) -> Option<(Name, bool)> {
    let text = DIRECT.iter().find_map(|form| form.captures(text)?.name("x"))?.as_str();
    subject(text, true).or_else(|| {
        let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_')
            && text.starts_with(|c: char| c.is_alphabetic() && !c.is_ascii());
        let name =
            Name { name: text.to_owned(), qualifiers: Vec::new(), kind: None, is_code: true };
        is_name.then_some((name, false))
    })
}

/// A name in the place of a subject, and whether it is called a kind of thing there.
fn subject(text: &str, is_hard: bool) -> Option<(Name, bool)> {
    let tokens = text.split_whitespace().map(|token| token.trim_matches([',', '"', '\'', ':']));
    let (mut kind, mut rest) = (None, Vec::new());
    let all: Vec<&str> = tokens.filter(|token| !token.is_empty()).collect();
    for (at, token) in all.iter().enumerate() {
        let lower = token.to_lowercase();
        // The last word that is left is the subject even if it is called like a kind: `where is Type defined`.
        let is_last_chance = rest.is_empty() && at + 1 == all.len();
        let is_filler = [
            "the", "a", "an", "this", "that", "our", "my", "named", "called", "actual", "exact",
            "where",
        ]
        .contains(&lower.as_str());
        if is_filler && !(is_last_chance && is_hard) {
            continue;
        }
        if KINDS.contains(&lower.as_str()) && !is_last_chance && kind.is_none() {
            kind = Some(lower);
        } else {
            rest.push(*token);
        }
    }
    let [token] = rest.as_slice() else {
        return None;
    };
    let Some(super::Reference::Name(name)) = reference(token) else {
        return None;
    };
    let lower = name.name.to_lowercase();
    // `where is from defined?` asks about `from`, `where is it defined?` about nothing that it says.
    let may_be_empty = is_hard && !PRONOUNS.contains(&lower.as_str());
    if words::is_empty_word(&lower) && kind.is_none() && !name.is_code && !may_be_empty {
        return None;
    }
    let has_kind = kind.is_some();
    Some((Name { kind, ..name }, has_kind))
}

/// The only Latin word of a question in another script.
fn foreign(text: &str) -> Option<(Name, bool)> {
    if text.chars().filter(|c| c.is_alphabetic() && *c as u32 > 0x2ff).count() < 2 {
        return None;
    }
    let is_latin = |c: char| c.is_ascii_alphanumeric() || "_$:.-".contains(c);
    let mut words = text.split(|c| !is_latin(c)).filter(|word| word.len() > 1);
    let word = words.next()?;
    if words.next().is_some() { None } else { subject(word, true) }
}

const PRONOUNS: &[&str] = &[
    "all",
    "any",
    "anything",
    "everything",
    "he",
    "it",
    "its",
    "one",
    "she",
    "something",
    "that",
    "the",
    "them",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "we",
    "what",
    "which",
    "who",
    "you",
];

const KINDS: &[&str] = &[
    "alias",
    "attribute",
    "class",
    "component",
    "const",
    "constant",
    "constructor",
    "decorator",
    "enum",
    "enumeration",
    "field",
    "fixture",
    "fn",
    "func",
    "function",
    "getter",
    "helper",
    "hook",
    "identifier",
    "interface",
    "macro",
    "member",
    "method",
    "mixin",
    "module",
    "namespace",
    "object",
    "option",
    "parameter",
    "property",
    "protocol",
    "routine",
    "setter",
    "static",
    "struct",
    "structure",
    "subroutine",
    "symbol",
    "target",
    "trait",
    "type",
    "typedef",
    "union",
    "variable",
    "variant",
];

fn forms(texts: &[&str]) -> Vec<Regex> {
    texts.iter().map(|text| pattern(&format!("(?i){text}"))).collect()
}

static COURTESY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?:hey|hi|hello|ok|okay|so|and|then|now|please|pls|well|also|but)\b[,!.]*\s+",
        r"|(?:can|could|would|will) (?:you|u|we|i) (?:please )?(?:help me )?|(?:please )?(?:tell|remind) me (?:about )?",
        r"|do you (?:happen to )?know |i (?:want|need|would like|'d like)(?: you)? to (?:know|see|find(?: out)?) ",
        r"|i wonder |i am wondering |i'm (?:wondering|trying to find) |any idea )+",
    ))
});

static SMALL_TALK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?:hi|hello|hey|yo|thanks|thank you|thx|ok|okay|good (?:morning|evening|afternoon|day)|cheers|bye",
        r"|goodbye|ping|test|yes|no|sure|great|nice|cool|help|there|all|everyone|so much|a lot|very much)[\s,!.]*)+$",
        r"|^(?:who|what) are you|^how are you|^what can you do|^what model\b|^are you\b",
    ))
});

static HARD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:defin(?:ed?|es|ition|itions)|declar(?:ed?|es|ation|ations)|signature|calls?|callers?)\b",
    )
});

static EXPLANATION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?:how|why|when)\b"));

static ABOUT_USE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^how (?:do|can|should|would|does one|to)\b|^what (?:is|are|licen[cs]e|does)\b|^which (?:licen[cs]e|version)",
        r"|\b(?:install|licen[cs]ed?|contribut\w*|documentation|getting started|tutorial|supported|requirements?)\b",
        r"|^(?:is|are|does) (?:it|this|there)",
    ))
});

static OVERVIEW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:what(?:'s| is| does)|describe|explain|summari[sz]e|give me an? (?:overview|summary) of|overview of|tell me about)",
        r" (?:this|the|that|my|our)? ?(?:whole |entire )?(?:project|repo|repository|code ?base|code|package|program|app|application",
        r"|library|crate|workspace|folder|software)?(?: (?:do|about|for|used for|all about))?$|^(?:overview|summary)$",
        r"|^what is (?:this|it)$",
    ))
});

static USES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    forms(&[
        r"^(?:who|what|which \w+(?: \w+)?)(?: all)? (?:calls?|uses?|invokes?|references?|imports?|depends? on|instantiates?|consumes?|implements?|extends?) (?P<x>.+)$",
        r"\b(?:callers?|calls|uses|usages?|references?|refs|call ?sites?|users|consumers|imports|occurrences|implementors|implementations) (?:of|to|for|from) (?P<x>.+)$",
        r"\bwhere(?:'s|'re| is| are| do we| does it| do they| else is)? ?(?P<x>.+?) (?:is |are |being |get |gets )?(?:used|called|invoked|referenced|imported|instantiated|consumed|constructed)\b",
        r"\bwhere (?:do|does|is|are) (?:we|it|they|anyone|anything|the code|someone)? ?(?:call|use|invoke|import|reference)(?:s|d)? (?P<x>.+)$",
        r"^(?:(?:find|show|list)(?: me)? )?(?:all )?(?:the )?(?P<x>\S+) (?:usages?|callers|references|call ?sites?|uses)$",
    ])
});

static DIRECT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    forms(&[
        r"^where(?:'s| is| are) (?P<x>\S+(?: \S+){0,2}) (?:defined|declared)$",
        r"^(?:(?:find|show)(?: me)? )?(?:the )?(?:definition|declaration) of (?P<x>\S+(?: \S+){0,2})$",
        r"^(?P<x>\S+) (?:is )?(?:defined|declared) where$",
        r"^where (?P<x>\S+) is (?:defined|declared)$",
    ])
});

static DEFINITIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    forms(&[
        r"\bwhere(?:'s|s|'re| is| are| was| were| did| has| can i find| do i find| do we find| to find)? (?:the )?(?P<x>.+?) (?:is |are |was |being |been |get |gets |actually |really |originally |first )*(?:defined|declared|implemented|located|found|introduced|coming from|written|placed|kept)\b",
        r"\bwhere (?:does|do|did) (?P<x>.+?) (?:live|reside|sit|come from|get (?:defined|declared|implemented)|originate|exist)\b",
        r"^where (?P<x>.+?) (?:lives?|resides?|sits?|comes? from|is|are)$",
        r"\b(?:which|what) (?:source )?(?:file|module|crate|package|header|place|line|class|folder|directory|part\b.*?)s? (?:of .+? )?(?:defines?|declares?|contains?|has|have|holds?|implements?|introduces?|provides?|exports?) (?P<x>.+)$",
        r"\b(?:which|what) (?:source )?(?:file|module|crate|package|header|line|folder|directory)s? (?:is|are|does|do|has|can i find) (?P<x>.+?)(?: (?:defined|declared|implemented|located|live|found|come from|be found))?(?: in| at| on| from)?$",
        r"\b(?:definitions?|declarations?|implementations?|source(?: code)?|body|signature|location|def|docs?|code) (?:of|for|to) (?P<x>.+)$",
        r"^does (?P<x>.+?) exist(?: here| anywhere)?$",
        r"^is there (?:an? |the )?(?P<x>(?:class|function|struct|method|type|macro|trait|enum|interface) \S+)$",
        r"^(?P<x>\S+?)(?:'s)? (?:definition|declaration|implementation|source|signature|def)$",
        r"^(?:where|who|what) (?:defines?|declares?|implements?|owns?|provides?) (?P<x>.+)$",
        r"^how (?:is|are|was) (?P<x>.+?) (?:defined|declared|implemented)$",
        r"^where(?:'s| is| are| can i find| do i find) (?P<x>.+)$",
        r"^what (?:does|do) (?P<x>.+?) (?:do|mean|return|stand for|refer to|take)\b",
        r"^what(?:'s| is| are) (?P<x>.+?)(?: for| about| used for| supposed to do| doing)?$",
        r"^(?:show|find|locate|open|print|display|view|give|get|look up|lookup|look for|looking for|search for|search|go ?to|jump to|take me to|bring up|grep for|grep|explain|describe|point me to|i'm looking for|what about|define)(?: me| us)? (?:to )?(?:where )?(?P<x>.+?)(?: (?:is|are))?(?: (?:defined|declared|implemented|located|lives))?$",
    ])
});

#[cfg(test)]
pub(super) fn all() -> usize {
    let lazy = [&*COURTESY, &*SMALL_TALK, &*HARD, &*EXPLANATION, &*ABOUT_USE, &*OVERVIEW];
    lazy.len() + DIRECT.len() + USES.len() + DEFINITIONS.len()
}
