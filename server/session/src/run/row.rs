//! A run as a row of a log file:
//! `{"type":"text-chunks","seq0":…,"time0":…,"data":{"turn":…,"step":…,"index":…,"dt":[…],"texts":[…]}}`. `dt` has
//! the milliseconds from each delta to the next; a clock may jump back. Arguments of tool calls stand in `args`.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Block, Kind, Run};

/// The types of rows.
const TEXT: &str = "text-chunks";
const REASONING: &str = "reasoning-chunks";
const TOOL_CALL: &str = "tool-call-chunks";

impl Kind {
    fn row(self) -> &'static str {
        match self {
            Self::Text => TEXT,
            Self::Reasoning => REASONING,
            Self::ToolCall => TOOL_CALL,
        }
    }

    fn of_row(name: &str) -> Option<Self> {
        [Self::Text, Self::Reasoning, Self::ToolCall].into_iter().find(|kind| kind.row() == name)
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 4)?;
        row.serialize_field("type", self.of.kind.row())?;
        row.serialize_field("seq0", &self.first_seq)?;
        row.serialize_field("time0", &self.times.first())?;
        row.serialize_field("data", &Data(self))?;
        row.end()
    }
}

struct Data<'a>(&'a Run);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = self.0.of;
        let mut data = serializer.serialize_struct("Data", 5)?;
        data.serialize_field("turn", &of.turn)?;
        data.serialize_field("step", &of.step)?;
        data.serialize_field("index", &of.index)?;
        data.serialize_field("dt", &Gaps(&self.0.times))?;
        let texts = if of.kind == Kind::ToolCall { "args" } else { "texts" };
        data.serialize_field(texts, &Parts(self.0))?;
        data.end()
    }
}

struct Gaps<'a>(&'a [u64]);

impl Serialize for Gaps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let gap = |pair: &[u64]| pair[1].wrapping_sub(pair[0]).cast_signed();
        serializer.collect_seq(self.0.windows(2).map(gap))
    }
}

struct Parts<'a>(&'a Run);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0.len()).map(|at| self.0.text_at(at)))
    }
}

/// A row as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    r#type: String,
    seq0: u64,
    time0: u64,
    data: RowData,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowData {
    turn: u64,
    step: u64,
    index: u32,
    dt: Vec<i64>,
    texts: Option<Texts>,
    args: Option<Texts>,
    /// Other writers name the call again; its block's start has named it.
    #[serde(rename = "id")]
    _id: Option<String>,
    #[serde(rename = "name")]
    _name: Option<String>,
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Row::deserialize(deserializer)?.unpacked().map_err(D::Error::custom)
    }
}

impl Row {
    fn unpacked(self) -> Result<Run, String> {
        let name = self.r#type;
        let wrong = |what: &str| format!("a row `{name}` {what}");
        let kind = Kind::of_row(&name).ok_or_else(|| wrong("is not known"))?;
        let Texts { text, ends } = match (kind, self.data.texts, self.data.args) {
            (Kind::Text | Kind::Reasoning, Some(texts), None)
            | (Kind::ToolCall, None, Some(texts)) => texts,
            (Kind::ToolCall, _, _) => return Err(wrong("has `args` and no `texts`")),
            (Kind::Text | Kind::Reasoning, _, _) => {
                return Err(wrong("has `texts` and no `args`"));
            }
        };
        if ends.is_empty() {
            return Err(wrong("has no deltas"));
        }
        if self.data.dt.len() + 1 != ends.len() {
            return Err(wrong("needs one gap in `dt` between any two deltas"));
        }
        if self.seq0.checked_add(ends.len() as u64).is_none() {
            return Err(wrong("has a seq that is too great"));
        }
        let mut times = Vec::with_capacity(ends.len());
        times.push(self.time0);
        let mut time = self.time0;
        for gap in self.data.dt {
            time = time
                .checked_add_signed(gap)
                .ok_or_else(|| wrong("has a gap in `dt` that leads out of time"))?;
            times.push(time);
        }
        let RowData { turn, step, index, .. } = self.data;
        let of = Block { turn, step, index, kind };
        Ok(Run { first_seq: self.seq0, of, times, ends, text })
    }
}

/// Strings one behind the other.
#[derive(Default)]
struct Texts {
    text: String,
    ends: Vec<u32>,
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Strings)
    }
}

struct Strings;

impl<'de> Visitor<'de> for Strings {
    type Value = Texts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
        let mut texts = Texts::default();
        while list.next_element_seed(Next(&mut texts.text))?.is_some() {
            let end = u32::try_from(texts.text.len());
            texts.ends.push(end.map_err(|_| A::Error::custom("too much text in one row"))?);
        }
        Ok(texts)
    }
}

/// Adds the next string to a text without a copy in between.
struct Next<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Next<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, part: &str) -> Result<(), E> {
        self.0.push_str(part);
        Ok(())
    }
}
