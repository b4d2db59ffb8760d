//! How an event is written: `type`, `seq`, `time`, `data` and what else it needs.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Event, EventData, SurfaceOp, event_schemas};

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.data.name())?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("time", &self.time)?;
        self.data.serialize_payload(&mut map)?;
        if let Some(op) = &self.surface_op {
            map.serialize_entry("surfaceOp", op)?;
        }
        if let Some(seqs) = &self.source_event_seqs {
            map.serialize_entry("sourceEventSeqs", seqs)?;
        }
        if self.ignorable {
            map.serialize_entry("ignorable", &true)?;
        }
        map.end()
    }
}

/// The envelope as text: the payload is decoded once the type is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    r#type: String,
    seq: u64,
    time: u64,
    data: Box<RawValue>,
    #[serde(default)]
    surface_op: Option<SurfaceOp>,
    #[serde(default)]
    source_event_seqs: Option<Vec<u64>>,
    #[serde(default)]
    ignorable: bool,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let envelope = Envelope::deserialize(deserializer)?;
        let data = EventData::decode(&envelope.r#type, &envelope.data)
            .map_err(|error| D::Error::custom(format!("data of `{}`: {error}", envelope.r#type)))?;
        Ok(Self {
            seq: envelope.seq,
            time: envelope.time,
            data,
            surface_op: envelope.surface_op,
            source_event_seqs: envelope.source_event_seqs,
            ignorable: envelope.ignorable,
        })
    }
}

impl JsonSchema for Event {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let described = |mut schema: Schema, description: &str| {
            schema.insert("description".to_owned(), description.into());
            schema
        };
        let surface_op = described(
            generator.subschema_for::<SurfaceOp>(),
            "How it changes what the model sees; on surface events only.",
        );
        let variants: Vec<Value> = event_schemas(generator)
            .into_iter()
            .map(|event| {
                json!({
                    "type": "object",
                    "description": event.doc,
                    "properties": {
                        "type": { "type": "string", "const": event.name },
                        "seq": { "type": "integer", "minimum": 0, "description": "Place in the log, from 0 without gaps." },
                        "time": { "type": "integer", "minimum": 0, "description": "Epoch milliseconds." },
                        "data": described(event.payload, "What happened."),
                        "surfaceOp": surface_op,
                        "sourceEventSeqs": {
                            "type": "array",
                            "items": { "type": "integer", "minimum": 0 },
                            "description": "The events that this one was made from.",
                        },
                        "ignorable": {
                            "type": "boolean",
                            "description": "Whether a reader that does not know the type may pass over it.",
                        },
                    },
                    "required": ["type", "seq", "time", "data"],
                })
            })
            .collect();
        Schema::try_from(
            json!({ "description": "One entry of a session's log.", "oneOf": variants }),
        )
        .unwrap_or_default()
    }
}
