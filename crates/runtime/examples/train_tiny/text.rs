//! The synthetic text the tiny model learns from: requests beside a schema or
//! tools, with the right answer. Everything is written by this file from
//! templates, word lists and random syllables; nothing is read from outside.
//!
//! A name (person, place, thing) is *held out* when a hash of it says so, see
//! [`held_out`]: training text uses only names that are not, evaluation only
//! names that are, so an evaluation never shows a name the model was trained on.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Map, Value, json};
use tokenmold::chat::chatml as chat;

/// One conversation: what is asked, under which constraint, and the answer.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) task: Task,
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) answer: String,
}

/// What the answer must be.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Say it again: teaches copying, the skill all the others rest on.
    Copy,
    /// A JSON object of this schema.
    Object { schema: Value, expected: Value },
    /// A call of one of these tools.
    Call {
        tools: Vec<Value>,
        name: String,
        arguments: Value,
    },
}

impl Example {
    /// The prompt, up to and with the opening of the assistant's turn.
    pub(crate) fn prompt(&self) -> String {
        chat::prompt(&self.system, &self.user)
    }
}

/// Whether names that hash like this one are kept out of the training text.
pub(crate) fn held_out(name: &str) -> bool {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32).is_multiple_of(8)
}

/// Which names a writer may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Training,
    HeldOut,
}

/// A seeded writer of examples.
pub(crate) struct Writer {
    rng: ChaCha8Rng,
    names: Names,
}

const ONSETS: &[&str] = &[
    "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "l", "m", "n", "p",
    "pr", "qu", "r", "s", "sh", "st", "t", "th", "tr", "v", "w", "x", "y", "z", "zh", "", "",
];
const NUCLEI: &[&str] = &[
    "a", "e", "i", "o", "u", "ai", "ea", "ou", "ia", "y", "a", "e", "i", "o", "u", "é", "ö", "ü",
];
const CODAS: &[&str] = &[
    "", "", "", "", "n", "r", "l", "s", "m", "t", "k", "x", "nd", "rk", "st", "ll", "ss", "p",
];
const PEOPLE: &[&str] = &[
    "Ada", "Alan", "Amara", "Anna", "Ben", "Carla", "Chen", "Clara", "Daniel", "Dana", "Elena",
    "Emil", "Farah", "Felix", "Grace", "Hana", "Hugo", "Ines", "Ivan", "Jana", "John", "Jonas",
    "Karim", "Kate", "Laura", "Leo", "Lina", "Lucas", "Maria", "Marta", "Max", "Maya", "Milan",
    "Nadia", "Nina", "Noah", "Olga", "Omar", "Oscar", "Paul", "Petra", "Priya", "Rosa", "Ruth",
    "Sam", "Sara", "Simon", "Sofia", "Tara", "Theo", "Tom", "Vera", "Victor", "Wei", "Yara", "Zoe",
    "Smith", "Baker", "Novak", "Silva", "Rossi", "Weber", "Kumar", "Tanaka", "Okoye", "Larsen",
];
const PLACES: &[&str] = &[
    "Athens", "Berlin", "Bern", "Boston", "Cairo", "Chicago", "Dublin", "Geneva", "Hamburg",
    "Istanbul", "Kyoto", "Lagos", "Lima", "Lisbon", "London", "Lyon", "Madrid", "Milan", "Munich",
    "Nairobi", "Oslo", "Paris", "Porto", "Prague", "Quito", "Riga", "Rome", "Seoul", "Sofia",
    "Sydney", "Tokyo", "Turin", "Vienna", "Warsaw", "Zurich", "Denver", "Austin", "Utrecht",
];
const THINGS: &[&str] = &[
    "Lamp", "Desk", "Chair", "Rug", "Shelf", "Mirror", "Clock", "Teapot", "Kettle", "Bowl",
    "Knife", "Blanket", "Pillow", "Notebook", "Pencil", "Camera", "Tripod", "Keyboard", "Monitor",
    "Cable", "Charger", "Speaker", "Drill", "Hammer", "Ladder", "Rope", "Tent", "Lantern",
    "Bicycle", "Helmet", "Gloves", "Jacket", "Boots", "Scarf", "Wallet", "Backpack", "Umbrella",
    "Candle", "Vase", "Basket", "Piano", "Guitar", "Violin", "Ticket", "Poster", "Map", "Compass",
    "Radio",
];
const TITLES: &[&str] = &[
    "Lunch",
    "Kickoff",
    "Review",
    "Workshop",
    "Seminar",
    "Concert",
    "Picnic",
    "Interview",
    "Demo",
    "Standup",
    "Planning",
    "Retreat",
    "Launch",
    "Training",
    "Dinner",
    "Budget",
    "Audit",
    "Garden",
    "Winter",
    "Summer",
    "River",
    "Night",
    "Morning",
    "Silver",
    "Paper",
    "Blue",
    "Quiet",
    "Travel",
    "Moving",
    "Invoice",
    "Report",
    "Contract",
    "Holiday",
    "Parade",
    "Festival",
    "Reading",
];
const WORDS: &[&str] = &[
    "baker", "nurse", "pilot", "teacher", "driver", "painter", "writer", "farmer", "engineer",
    "lawyer", "dentist", "singer",
];
const TAGS: &[&str] = &[
    "new", "sale", "gift", "home", "office", "garden", "travel", "kids", "winter", "summer",
    "urgent", "draft", "private", "team", "sport", "music",
];
const MONTHS: &[&str] = &[
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const KEYS: &[&str] = &[
    "mode", "label", "level", "volume", "limit", "owner", "speed", "theme", "region", "channel",
    "width", "height", "depth", "source", "target", "group", "rate", "offset", "profile", "code",
    "zone", "shift", "batch", "model", "series", "stage", "track", "grade", "rank", "score",
];

impl Writer {
    /// A writer whose text depends on `seed` and `stream` alone.
    pub(crate) fn new(seed: u64, stream: u64, names: Names) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self { rng, names }
    }

    /// A number below `n`, by multiply and shift so that it does not depend
    /// on how a version of a library maps bits to ranges.
    fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.rng.next_u32()) * n as u64) >> 32) as usize
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// A capitalised word, from `list` or, half the time, of random syllables.
    fn proper(&mut self, list: &[&str]) -> String {
        loop {
            let word = if self.chance(50) {
                self.pick(list).to_owned()
            } else {
                self.invented()
            };
            if held_out(&word) == (self.names == Names::HeldOut) {
                return word;
            }
        }
    }

    fn invented(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..if self.chance(75) { 2 } else { 3 } {
            let (onset, coda) = (self.pick(ONSETS), self.pick(CODAS));
            // Letters outside ASCII are rare: one word in about ten.
            let nuclei = if self.chance(20) { 18 } else { 15 };
            let nucleus = self.pick(&NUCLEI[..nuclei]);
            word.push_str(onset);
            word.push_str(nucleus);
            word.push_str(coda);
        }
        let mut letters = word.chars();
        match letters.next() {
            Some(first) => first.to_uppercase().chain(letters).collect(),
            None => word,
        }
    }

    fn phrase(&mut self, list: &[&str], two_percent: usize) -> String {
        let first = self.proper(list);
        if self.chance(two_percent) {
            format!("{first} {}", self.proper(list))
        } else {
            first
        }
    }

    fn person(&mut self) -> String {
        self.phrase(PEOPLE, 55)
    }

    fn listed(&mut self, list: &[&str]) -> (Value, String) {
        let count = self.between(1, 3);
        let mut items: Vec<String> = Vec::new();
        while (items.len() as i64) < count {
            let item = if list[0].starts_with(char::is_uppercase) {
                self.phrase(list, 10)
            } else {
                self.pick(list).to_owned()
            };
            if !items.contains(&item) {
                items.push(item);
            }
        }
        let spoken = spoken_list(&items);
        (json!(items), spoken)
    }

    fn date(&mut self) -> (Value, String) {
        let (y, m, d) = (
            self.between(1950, 2035),
            self.below(12),
            self.between(1, 28),
        );
        let iso = format!("{y}-{:02}-{d:02}", m + 1);
        let spoken = if self.chance(60) {
            iso.clone()
        } else {
            format!("{d} {} {y}", MONTHS[m])
        };
        (json!(iso), spoken)
    }

    fn integer(&mut self, low: i64, high: i64) -> (Value, String) {
        let n = if self.chance(50) {
            self.between(low, high.min(low + 30))
        } else {
            self.between(low, high)
        };
        (json!(n), n.to_string())
    }

    fn decimal(&mut self, low: i64, high: i64) -> (Value, String) {
        let whole = self.between(low, high);
        let text = if self.chance(50) {
            format!("{whole}.{}", self.between(1, 9))
        } else {
            format!("{whole}.{}{}", self.below(10), self.between(1, 9))
        };
        let value = serde_json::from_str(&text).unwrap_or(Value::Null);
        (value, text)
    }

    fn email(&mut self) -> String {
        let (user, host) = (self.proper(PEOPLE), self.proper(PLACES));
        let top = self.pick(&["com", "org", "net", "io"]);
        let plain = |s: &str| -> String {
            s.to_lowercase()
                .chars()
                .filter(char::is_ascii_lowercase)
                .collect()
        };
        format!("{}@{}.{top}", plain(&user), plain(&host))
    }

    /// The value of a field: its schema, the value, how the request says it,
    /// and the value again as `key: value` lists would write it.
    fn value(&mut self, kind: &Kind) -> (Value, Value, String) {
        match kind {
            Kind::Person => string(self.person()),
            Kind::Place => string(self.phrase(PLACES, 8)),
            Kind::Thing => string(self.phrase(THINGS, 30)),
            Kind::Title => string(self.phrase(TITLES, 60)),
            Kind::Word(list) => string(self.pick(list).to_owned()),
            Kind::Code => {
                let letters: String = (0..2)
                    .map(|_| char::from(b'A' + self.below(26) as u8))
                    .collect();
                let digits = self.between(100, 9999);
                string(format!("{letters}-{digits}"))
            }
            Kind::Street => {
                let number = self.between(1, 99);
                let street = self.proper(PLACES);
                let suffix = self.pick(&["Street", "Road", "Lane", "Square"]);
                string(format!("{number} {street} {suffix}"))
            }
            Kind::Phone => {
                let digits: Vec<String> =
                    (0..3).map(|_| self.between(10, 999).to_string()).collect();
                string(format!("+{}", digits.join(" ")))
            }
            Kind::Email => {
                let email = self.email();
                let schema = if self.chance(50) {
                    json!({"type": "string", "format": "email"})
                } else {
                    json!({"type": "string"})
                };
                (schema, json!(email), email)
            }
            Kind::Date => {
                let (value, spoken) = self.date();
                (json!({"type": "string", "format": "date"}), value, spoken)
            }
            Kind::Time => {
                let text = format!("{:02}:{:02}", self.below(24), 5 * self.below(12));
                string(text)
            }
            Kind::Integer(low, high) => {
                let (value, spoken) = self.integer(*low, *high);
                let schema = if self.chance(40) {
                    json!({"type": "integer", "minimum": low, "maximum": high})
                } else {
                    json!({"type": "integer"})
                };
                (schema, value, spoken)
            }
            Kind::Number(low, high) => {
                let (value, spoken) = self.decimal(*low, *high);
                (json!({"type": "number"}), value, spoken)
            }
            Kind::Enum(values) => {
                let mut values: Vec<&str> = values.to_vec();
                self.shuffle(&mut values);
                if values.len() > 2 && self.chance(40) {
                    values.pop();
                }
                let value = values[self.below(values.len())];
                (json!({"enum": values}), json!(value), value.to_owned())
            }
            Kind::List(list) => {
                let (value, spoken) = self.listed(list);
                let schema = json!({"type": "array", "items": {"type": "string"}});
                (schema, value, spoken)
            }
            Kind::Yes(yes, no) => {
                let truth = self.chance(50);
                let spoken = if truth { yes } else { no };
                (
                    json!({"type": "boolean"}),
                    json!(truth),
                    (*spoken).to_owned(),
                )
            }
            Kind::Object(fields) => {
                let mut properties = Map::new();
                let mut object = Map::new();
                let mut spoken = Vec::new();
                for field in *fields {
                    let key = self.pick(field.keys);
                    let (schema, value, said) = self.value(&field.kind);
                    properties.insert(key.to_owned(), schema);
                    object.insert(key.to_owned(), value);
                    spoken.push(field.clause[0].replace("{}", &said));
                }
                let schema = object_schema(properties, object.keys().cloned().collect());
                (schema, Value::Object(object), spoken.join(", "))
            }
        }
    }

    /// An example; `copying` is the percentage of pure copying tasks.
    pub(crate) fn example(&mut self, copying: usize) -> Example {
        if self.chance(copying) {
            return self.copy();
        }
        match self.below(20) {
            0..=2 => self.settings(),
            3..=10 => self.object(),
            _ => self.call(),
        }
    }

    fn copy(&mut self) -> Example {
        let mut parts = Vec::new();
        for _ in 0..self.between(2, 5) {
            let kind = match self.below(8) {
                0 | 1 => Kind::Person,
                2 => Kind::Thing,
                3 => Kind::Code,
                4 => Kind::Integer(0, 9999),
                5 => Kind::Email,
                6 => Kind::Date,
                _ => Kind::Place,
            };
            parts.push(self.value(&kind));
        }
        let spoken: Vec<String> = parts.iter().map(|(_, _, spoken)| spoken.clone()).collect();
        let values: Vec<Value> = parts.into_iter().map(|(_, value, _)| value).collect();
        let array = json!(values).to_string();
        Example {
            task: Task::Copy,
            system: "List the values as JSON.".to_owned(),
            user: spoken.join(", "),
            answer: array,
        }
    }

    /// Chooses fields and writes the object, its schema and the clauses.
    fn fields(&mut self, fields: &[Field], always: usize, most: usize) -> Filled {
        let mut chosen: Vec<usize> = (always..fields.len()).collect();
        self.shuffle(&mut chosen);
        let extra = self.between(1, most as i64) as usize;
        chosen.truncate(extra);
        let mut order: Vec<usize> = (0..always).chain(chosen).collect();
        if self.chance(40) {
            self.shuffle(&mut order);
        } else {
            order.sort_unstable();
        }

        let mut filled = Filled::default();
        let optional = self.chance(35);
        for index in order {
            let field = &fields[index];
            let key = self.pick(field.keys).to_owned();
            if filled.properties.contains_key(&key) {
                continue;
            }
            let (schema, value, spoken) = self.value(&field.kind);
            filled.properties.insert(key.clone(), schema);
            let is_optional = index >= always && optional && self.chance(50);
            if is_optional && self.chance(60) {
                continue; // in the schema, not in the request: left out of the answer
            }
            if !is_optional {
                filled.required.push(key.clone());
            }
            filled.object.insert(key.clone(), value);
            let clause = self.pick(field.clause).replace("{}", &spoken);
            if index < always {
                filled.lead.push((index, spoken, key));
            } else {
                filled.clauses.push((clause, spoken, key));
            }
        }
        filled.lead.sort_by_key(|(index, ..)| *index);
        self.shuffle(&mut filled.clauses);
        filled
    }

    /// The request: lead and clauses as a sentence, or as `key: value` pairs.
    fn request(&mut self, lead: &str, filled: &Filled) -> String {
        if self.chance(15)
            && !filled
                .clauses
                .iter()
                .any(|(clause, said, _)| clause == said)
        {
            let pairs: Vec<String> = filled
                .lead
                .iter()
                .map(|(_, spoken, key)| format!("{key}: {spoken}"))
                .chain(
                    filled
                        .clauses
                        .iter()
                        .map(|(_, spoken, key)| format!("{key}: {spoken}")),
                )
                .collect();
            return format!("{}.", pairs.join("; "));
        }
        let mut text = lead.to_owned();
        for (_, spoken, _) in &filled.lead {
            text = text.replacen("{}", spoken, 1);
        }
        let separator = self.pick(&[", ", ", ", "; "]);
        for (i, (clause, ..)) in filled.clauses.iter().enumerate() {
            let last = i + 1 == filled.clauses.len();
            text.push_str(if last && i > 0 && separator == ", " {
                " and "
            } else {
                separator
            });
            text.push_str(clause);
        }
        text.push('.');
        text
    }

    fn object(&mut self) -> Example {
        let domain = &DOMAINS[self.below(DOMAINS.len())];
        let filled = self.fields(domain.fields, 1, 5);
        let lead = self.pick(domain.leads);
        let user = self.request(lead, &filled);
        object_example(filled, user)
    }

    /// Keys that mean nothing, so that only the schema tells their type.
    fn settings(&mut self) -> Example {
        let mut keys: Vec<&str> = KEYS.to_vec();
        self.shuffle(&mut keys);
        let mut filled = Filled::default();
        let mut said = Vec::new();
        for key in keys.into_iter().take(self.between(2, 5) as usize) {
            let kind = match self.below(7) {
                0 => Kind::Integer(0, 999),
                1 => Kind::Person,
                2 => Kind::Title,
                3 => Kind::Number(0, 99),
                4 => Kind::Code,
                5 => Kind::Yes("on", "off"),
                _ => Kind::Place,
            };
            let (schema, value, spoken) = self.value(&kind);
            filled.properties.insert(key.to_owned(), schema);
            filled.required.push(key.to_owned());
            filled.object.insert(key.to_owned(), value);
            said.push(format!("{key} {spoken}"));
        }
        self.shuffle(&mut said);
        let lead = self.pick(&["Settings: ", "Set ", "I want ", "Use "]);
        let user = format!("{lead}{}.", said.join(", "));
        object_example(filled, user)
    }

    fn call(&mut self) -> Example {
        let mut indices: Vec<usize> = (0..TOOLS.len()).collect();
        self.shuffle(&mut indices);
        indices.truncate(self.between(1, 3) as usize);
        let right = indices[0];
        self.shuffle(&mut indices);
        let mut tools = Vec::new();
        let mut answer = None;
        for index in indices {
            let tool = &TOOLS[index];
            let most = 2.min(tool.fields.len() - tool.always);
            let filled = self.fields(tool.fields, tool.always, most.max(1));
            let parameters = object_schema(filled.properties.clone(), filled.required.clone());
            tools.push(json!({"name": tool.name, "parameters": parameters}));
            if index == right {
                let lead = self.pick(tool.leads);
                let user = self.request(lead, &filled);
                answer = Some((tool.name, filled.into_object(), user));
            }
        }
        let (name, arguments, user) = answer.unwrap_or_default();
        Example {
            system: chat::tools_system(&tools),
            user,
            answer: chat::tool_call(name, &arguments),
            task: Task::Call {
                tools,
                name: name.to_owned(),
                arguments,
            },
        }
    }
}

#[derive(Default)]
struct Filled {
    properties: Map<String, Value>,
    required: Vec<String>,
    object: Map<String, Value>,
    lead: Vec<(usize, String, String)>,
    clauses: Vec<(String, String, String)>,
}

impl Filled {
    fn into_object(self) -> Value {
        Value::Object(self.object)
    }
}

fn object_example(filled: Filled, user: String) -> Example {
    let schema = object_schema(filled.properties.clone(), filled.required.clone());
    let expected = filled.into_object();
    Example {
        system: chat::schema_system(&schema),
        user,
        answer: expected.to_string(),
        task: Task::Object { schema, expected },
    }
}

fn object_schema(properties: Map<String, Value>, required: Vec<String>) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn string(text: String) -> (Value, Value, String) {
    (json!({"type": "string"}), json!(text), text)
}

fn spoken_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

enum Kind {
    Person,
    Place,
    Thing,
    Title,
    Word(&'static [&'static str]),
    Code,
    Street,
    Phone,
    Email,
    Date,
    Time,
    Integer(i64, i64),
    Number(i64, i64),
    Enum(&'static [&'static str]),
    List(&'static [&'static str]),
    /// True and false, as a request says them.
    Yes(&'static str, &'static str),
    Object(&'static [Field]),
}

struct Field {
    keys: &'static [&'static str],
    kind: Kind,
    /// How a request says it; `{}` is the value.
    clause: &'static [&'static str],
}

const fn field(
    keys: &'static [&'static str],
    kind: Kind,
    clause: &'static [&'static str],
) -> Field {
    Field { keys, kind, clause }
}

/// A kind of record; its first field is the subject that leads the request.
struct Domain {
    leads: &'static [&'static str],
    fields: &'static [Field],
}

/// A tool; its first `always` fields appear in every lead.
struct Tool {
    name: &'static str,
    leads: &'static [&'static str],
    always: usize,
    fields: &'static [Field],
}

const ADDRESS: Kind = Kind::Object(&[
    field(&["street"], Kind::Street, &["{}"]),
    field(&["city"], Kind::Place, &["{}"]),
]);
const ROOM: Kind = Kind::Object(&[
    field(&["building"], Kind::Place, &["{} building"]),
    field(&["room"], Kind::Integer(1, 400), &["room {}"]),
]);
const CONTACT: Kind = Kind::Object(&[
    field(&["name"], Kind::Person, &["{}"]),
    field(&["email"], Kind::Email, &["{}"]),
]);
const PRIORITY: Kind = Kind::Enum(&["low", "normal", "high", "urgent"]);

const DOMAINS: &[Domain] = &[
    Domain {
        leads: &["{}", "This is {}", "New contact {}", "Note about {}"],
        fields: &[
            field(&["name", "person", "full_name"], Kind::Person, &["{}"]),
            field(
                &["age", "years"],
                Kind::Integer(0, 120),
                &["is {} years old", "aged {}", "{} years"],
            ),
            field(
                &["city", "town"],
                Kind::Place,
                &["lives in {}", "from {}", "based in {}"],
            ),
            field(
                &["job", "profession"],
                Kind::Word(WORDS),
                &["works as a {}", "a {} by trade"],
            ),
            field(&["email"], Kind::Email, &["mail {}", "email is {}"]),
            field(&["phone"], Kind::Phone, &["phone {}", "call {}"]),
            field(
                &["member", "is_member"],
                Kind::Yes("is a member", "is not a member"),
                &["{}"],
            ),
            field(&["languages"], Kind::List(PLACES), &["speaks {}"]),
            field(&["height"], Kind::Number(1, 2), &["is {} m tall"]),
            field(
                &["born", "birth_date"],
                Kind::Date,
                &["born on {}", "born {}"],
            ),
            field(
                &["address", "home"],
                ADDRESS,
                &["lives at {}", "address {}"],
            ),
            field(&["friends"], Kind::List(PEOPLE), &["friends with {}"]),
        ],
    },
    Domain {
        leads: &[
            "Order for {}",
            "{} orders",
            "Please ship to {}",
            "New order from {}",
        ],
        fields: &[
            field(&["customer", "name", "buyer"], Kind::Person, &["{}"]),
            field(
                &["items", "products"],
                Kind::List(THINGS),
                &["items {}", "{} in the basket"],
            ),
            field(
                &["quantity", "pieces"],
                Kind::Integer(1, 99),
                &["{} pieces", "quantity {}"],
            ),
            field(
                &["total", "price"],
                Kind::Number(1, 400),
                &["total {}", "costs {}"],
            ),
            field(&["paid"], Kind::Yes("paid", "not paid yet"), &["{}"]),
            field(&["priority"], PRIORITY, &["{} priority", "priority {}"]),
            field(
                &["deliver_on", "date"],
                Kind::Date,
                &["deliver on {}", "due {}"],
            ),
            field(
                &["order_id", "id"],
                Kind::Code,
                &["number {}", "order id {}"],
            ),
            field(
                &["address", "ship_to"],
                ADDRESS,
                &["ship to {}", "address {}"],
            ),
            field(&["gift"], Kind::Yes("as a gift", "not a gift"), &["{}"]),
        ],
    },
    Domain {
        leads: &["{}", "Event {}", "Plan the {}", "We meet for {}"],
        fields: &[
            field(&["title", "event", "name"], Kind::Title, &["{}"]),
            field(&["date", "day"], Kind::Date, &["on {}", "date {}"]),
            field(&["start", "time"], Kind::Time, &["at {}", "starts at {}"]),
            field(&["city", "location", "place"], Kind::Place, &["in {}"]),
            field(&["place", "venue"], ROOM, &["in the {}"]),
            field(
                &["attendees", "guests", "people"],
                Kind::List(PEOPLE),
                &["with {}", "invite {}"],
            ),
            field(&["online"], Kind::Yes("online", "on site"), &["{}"]),
            field(
                &["seats", "capacity"],
                Kind::Integer(2, 500),
                &["{} seats", "room for {}"],
            ),
            field(
                &["kind", "category"],
                Kind::Enum(&["talk", "party", "meeting", "class"]),
                &["a {}", "kind {}"],
            ),
            field(&["host"], CONTACT, &["hosted by {}"]),
        ],
    },
    Domain {
        leads: &["{}", "Product {}", "We sell the {}", "New in the shop: {}"],
        fields: &[
            field(&["product", "name", "item"], Kind::Thing, &["{}"]),
            field(
                &["brand", "maker"],
                Kind::Person,
                &["made by {}", "brand {}"],
            ),
            field(&["price"], Kind::Number(1, 900), &["costs {}", "price {}"]),
            field(
                &["stock", "count"],
                Kind::Integer(0, 900),
                &["{} in stock", "{} left"],
            ),
            field(
                &["color"],
                Kind::Enum(&["red", "blue", "green", "black", "white"]),
                &["in {}", "color {}"],
            ),
            field(
                &["size"],
                Kind::Enum(&["small", "medium", "large"]),
                &["size {}", "{} size"],
            ),
            field(
                &["tags", "labels"],
                Kind::List(TAGS),
                &["tags {}", "tagged {}"],
            ),
            field(
                &["available"],
                Kind::Yes("available", "not available"),
                &["{}"],
            ),
            field(&["code", "sku"], Kind::Code, &["code {}"]),
            field(&["weight"], Kind::Number(0, 90), &["weighs {} kg"]),
        ],
    },
    Domain {
        leads: &["Task: {}", "To do: {}", "{} must be done", "Remember {}"],
        fields: &[
            field(&["task", "title"], Kind::Title, &["{}"]),
            field(
                &["assignee", "owner"],
                Kind::Person,
                &["for {}", "assigned to {}"],
            ),
            field(&["due", "deadline"], Kind::Date, &["due {}", "until {}"]),
            field(&["priority"], PRIORITY, &["{} priority", "priority {}"]),
            field(&["done"], Kind::Yes("done", "not done yet"), &["{}"]),
            field(&["hours"], Kind::Number(0, 40), &["takes {} hours"]),
            field(&["tags"], Kind::List(TAGS), &["tags {}", "tagged {}"]),
        ],
    },
    Domain {
        leads: &["Trip for {}", "{} travels", "Book a trip for {}"],
        fields: &[
            field(&["traveller", "passenger", "name"], Kind::Person, &["{}"]),
            field(&["from", "origin"], Kind::Place, &["from {}", "leaving {}"]),
            field(
                &["to", "destination"],
                Kind::Place,
                &["to {}", "going to {}"],
            ),
            field(&["depart", "date"], Kind::Date, &["on {}", "departs {}"]),
            field(&["seats"], Kind::Integer(1, 9), &["{} seats"]),
            field(
                &["class"],
                Kind::Enum(&["economy", "business", "first"]),
                &["{} class", "in {}"],
            ),
            field(
                &["return", "round_trip"],
                Kind::Yes("with return", "one way"),
                &["{}"],
            ),
            field(
                &["price"],
                Kind::Number(20, 900),
                &["price {}", "for {} euros"],
            ),
        ],
    },
    Domain {
        leads: &["Reading of {}", "Sensor {}", "{} reports"],
        fields: &[
            field(&["sensor", "id"], Kind::Code, &["{}"]),
            field(
                &["temperature", "value"],
                Kind::Number(-20, 45),
                &["{} degrees", "temperature {}"],
            ),
            field(
                &["humidity"],
                Kind::Integer(0, 100),
                &["humidity {}", "{} percent humidity"],
            ),
            field(
                &["status"],
                Kind::Enum(&["ok", "warning", "failed"]),
                &["status {}"],
            ),
            field(&["active"], Kind::Yes("active", "not active"), &["{}"]),
            field(&["site", "location"], Kind::Place, &["at {}", "in {}"]),
            field(&["time"], Kind::Time, &["time {}", "taken at {}"]),
        ],
    },
    Domain {
        leads: &["The song {}", "Play {}", "{}"],
        fields: &[
            field(&["title", "song"], Kind::Title, &["{}"]),
            field(&["artist", "singer"], Kind::Person, &["by {}"]),
            field(
                &["year"],
                Kind::Integer(1950, 2030),
                &["from {}", "year {}"],
            ),
            field(
                &["genre"],
                Kind::Enum(&["rock", "jazz", "folk", "pop"]),
                &["a {} song", "genre {}"],
            ),
            field(
                &["minutes"],
                Kind::Number(1, 12),
                &["{} minutes long", "{} minutes"],
            ),
            field(&["live"], Kind::Yes("live", "in the studio"), &["{}"]),
            field(
                &["players", "band"],
                Kind::List(PEOPLE),
                &["played by {}", "with {}"],
            ),
        ],
    },
];

const TOOLS: &[Tool] = &[
    Tool {
        name: "send_mail",
        leads: &[
            "Send a mail to {} about {}",
            "Write to {}, subject {}",
            "Mail {} about {}",
        ],
        always: 2,
        fields: &[
            field(&["to"], Kind::Person, &["{}"]),
            field(&["subject"], Kind::Title, &["{}"]),
            field(&["urgent"], Kind::Yes("urgent", "not urgent"), &["{}"]),
            field(&["copy"], Kind::List(PEOPLE), &["copy to {}"]),
        ],
    },
    Tool {
        name: "book_table",
        leads: &["Book a table at {} for {}", "Reserve at {} for {} people"],
        always: 2,
        fields: &[
            field(&["restaurant"], Kind::Title, &["{}"]),
            field(&["guests"], Kind::Integer(1, 20), &["{}"]),
            field(&["date"], Kind::Date, &["on {}"]),
            field(&["time"], Kind::Time, &["at {}"]),
            field(&["outside"], Kind::Yes("outside", "inside"), &["{}"]),
        ],
    },
    Tool {
        name: "get_weather",
        leads: &[
            "What is the weather in {}",
            "Weather for {} please",
            "Will it rain in {}",
        ],
        always: 1,
        fields: &[
            field(&["city"], Kind::Place, &["{}"]),
            field(&["date"], Kind::Date, &["on {}", "for {}"]),
            field(
                &["unit"],
                Kind::Enum(&["celsius", "fahrenheit"]),
                &["in {}"],
            ),
            field(&["days"], Kind::Integer(1, 14), &["{} days"]),
        ],
    },
    Tool {
        name: "play_song",
        leads: &["Play {} by {}", "I want to hear {} by {}"],
        always: 2,
        fields: &[
            field(&["title"], Kind::Title, &["{}"]),
            field(&["artist"], Kind::Person, &["{}"]),
            field(
                &["volume"],
                Kind::Integer(0, 100),
                &["volume {}", "at volume {}"],
            ),
            field(
                &["room"],
                Kind::Enum(&["kitchen", "bedroom", "office"]),
                &["in the {}"],
            ),
        ],
    },
    Tool {
        name: "set_alarm",
        leads: &["Wake me at {}", "Set an alarm for {}"],
        always: 1,
        fields: &[
            field(&["time"], Kind::Time, &["{}"]),
            field(&["label"], Kind::Title, &["label {}", "called {}"]),
            field(
                &["repeat"],
                Kind::Enum(&["never", "daily", "weekly"]),
                &["repeat {}", "{}"],
            ),
        ],
    },
    Tool {
        name: "create_event",
        leads: &[
            "Put {} in the calendar on {}",
            "Plan {} on {}",
            "Schedule {} for {}",
        ],
        always: 2,
        fields: &[
            field(&["title"], Kind::Title, &["{}"]),
            field(&["date"], Kind::Date, &["{}"]),
            field(&["start"], Kind::Time, &["at {}"]),
            field(
                &["attendees"],
                Kind::List(PEOPLE),
                &["with {}", "invite {}"],
            ),
            field(&["place"], Kind::Place, &["in {}"]),
        ],
    },
    Tool {
        name: "add_contact",
        leads: &["Save the contact {}", "Add {} to my contacts"],
        always: 1,
        fields: &[
            field(&["name"], Kind::Person, &["{}"]),
            field(&["phone"], Kind::Phone, &["phone {}", "call {}"]),
            field(&["email"], Kind::Email, &["mail {}", "email {}"]),
            field(&["address"], ADDRESS, &["lives at {}", "address {}"]),
        ],
    },
    Tool {
        name: "order_item",
        leads: &["Order {} of the {}", "Buy {} of {}", "I need {} of the {}"],
        always: 2,
        fields: &[
            field(&["quantity"], Kind::Integer(1, 50), &["{}"]),
            field(&["item"], Kind::Thing, &["{}"]),
            field(
                &["color"],
                Kind::Enum(&["red", "blue", "green", "black"]),
                &["in {}"],
            ),
            field(
                &["express"],
                Kind::Yes("express", "normal delivery"),
                &["{}"],
            ),
        ],
    },
    Tool {
        name: "transfer_money",
        leads: &["Send {} to {}", "Transfer {} to {}", "Pay {} to {}"],
        always: 2,
        fields: &[
            field(&["amount"], Kind::Number(1, 900), &["{}"]),
            field(&["to"], Kind::Person, &["{}"]),
            field(
                &["currency"],
                Kind::Enum(&["EUR", "USD", "GBP"]),
                &["in {}"],
            ),
            field(&["note"], Kind::Title, &["note {}", "for {}"]),
        ],
    },
    Tool {
        name: "set_thermostat",
        leads: &[
            "Heat to {}",
            "Set the temperature to {}",
            "Make it {} degrees",
        ],
        always: 1,
        fields: &[
            field(&["temperature"], Kind::Number(5, 30), &["{}"]),
            field(
                &["room"],
                Kind::Enum(&["kitchen", "bedroom", "office"]),
                &["in the {}"],
            ),
            field(&["until"], Kind::Time, &["until {}"]),
        ],
    },
    Tool {
        name: "find_route",
        leads: &[
            "How do I get from {} to {}",
            "Route from {} to {}",
            "Find the way from {} to {}",
        ],
        always: 2,
        fields: &[
            field(&["from"], Kind::Place, &["{}"]),
            field(&["to"], Kind::Place, &["{}"]),
            field(
                &["mode"],
                Kind::Enum(&["car", "train", "bike", "walk"]),
                &["by {}"],
            ),
            field(&["tolls"], Kind::Yes("with tolls", "no tolls"), &["{}"]),
        ],
    },
    Tool {
        name: "create_task",
        leads: &["New task {}", "Remind me of {}", "Add the task {}"],
        always: 1,
        fields: &[
            field(&["title"], Kind::Title, &["{}"]),
            field(&["due"], Kind::Date, &["due {}", "until {}"]),
            field(&["priority"], PRIORITY, &["{} priority", "priority {}"]),
            field(&["assignee"], Kind::Person, &["for {}", "assigned to {}"]),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure;

    #[test]
    fn names_are_held_out_of_training() {
        let words = |names: Names| -> Vec<String> {
            let mut writer = Writer::new(1, 0, names);
            (0..2000)
                .map(|i| writer.proper([PEOPLE, PLACES, THINGS, TITLES][i % 4]))
                .collect()
        };
        assert!(words(Names::Training).iter().all(|word| !held_out(word)));
        assert!(words(Names::HeldOut).iter().all(|word| held_out(word)));
    }

    #[test]
    fn the_names_of_the_demonstration_are_held_out() {
        let request = tokenmold::embedded::DEMO_REQUEST;
        for name in ["Hana", "Novak", "Helmet", "Umbrella", "Violin"] {
            assert!(held_out(name), "{name}");
            assert!(request.contains(name), "{name}");
        }
    }

    #[test]
    fn the_text_depends_on_seed_and_stream_alone() {
        let text = |seed, stream| {
            let example = Writer::new(seed, stream, Names::Training).example(5);
            (example.prompt(), example.answer)
        };
        assert_eq!(text(1, 7), text(1, 7));
        assert_ne!(text(1, 7), text(1, 8));
        assert_ne!(text(1, 7), text(2, 7));
    }

    #[test]
    fn right_answers_are_valid_and_the_mask_permits_them() {
        for stream in 0..150 {
            let example = Writer::new(3, stream, Names::HeldOut).example(0);
            let (schema, value) = match &example.task {
                Task::Copy => continue,
                Task::Object { schema, expected } => (schema, expected),
                Task::Call {
                    tools,
                    name,
                    arguments,
                } => {
                    let tool = tools.iter().find(|tool| tool["name"] == **name);
                    (
                        &tool.expect("the tool called is shown")["parameters"],
                        arguments,
                    )
                }
            };
            let validator = jsonschema::validator_for(schema).expect("a schema");
            assert!(validator.is_valid(value), "{schema} {value}");
            let regex = measure::regex(&example.task).expect("a regular schema");
            let dfa = fsm_index::Dfa::new(&regex).expect("an automaton");
            assert!(dfa.accepts(&example.answer), "{regex} {}", example.answer);
        }
    }
}
