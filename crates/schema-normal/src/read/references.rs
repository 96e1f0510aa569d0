//! Resolves references inside a document and to others that are at hand: JSON Pointers, `$id`,
//! anchors. For example `"$ref": "unit.json#/$defs/length"` under `"$id": "https://a/b.json"` leads
//! into the document `https://a/unit.json`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use json_tree::pointer::{percent_decode, unescape};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::ir::pointer::{Last, Pointer};
use crate::options::Draft;
use crate::read::documents::Documents;
use crate::read::parse_options::{ParseOptions, Rounded};
use crate::read::survey;
use crate::read::uri::{address, join_uri, without_fragment};

/// A subschema that is the root of its own resource (`$id`), or the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceId(u32);

pub(crate) struct Resource<'a> {
    value: &'a Value,
    pointer: Pointer,
    uri: String,
    /// Its own, by `$schema`, or that of what it stands in.
    draft: Draft,
    /// The meaning of its numbers that a value may have rounded.
    rounded: Rounded,
}

/// A place in the document.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: Pointer,
    resource: ResourceId,
    /// Which dynamic anchors are bound here, and to what.
    pub(super) scope: ScopeId,
}

/// A dynamic scope, as far as dynamic references can see it: for each name of
/// a dynamic anchor the outermost resource on the way that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(u32);

/// The scope in which nothing is bound. It has the number 0, because every document begins in it.
pub(crate) const NO_SCOPE: ScopeId = ScopeId(0);

pub(crate) struct Resolver<'a> {
    resources: Vec<Resource<'a>>,
    /// By address of the value that has the `$id`, but for the root.
    by_address: FxHashMap<*const Value, ResourceId>,
    /// Names in the schema, and in the documents that were opened.
    index: Option<Index<'a>>,
    documents: &'a Documents,
    /// The documents by their addresses, once a reference left the schema.
    addresses: Option<HashMap<String, usize>>,
    /// The roots of the documents that were opened, by number.
    opened: FxHashMap<usize, ResourceId>,
    max_nesting: usize,
    /// The meaning of numbers in documents that were given as values.
    rounded: Rounded,
    /// For each scope the resources that its names are bound to.
    scopes: Vec<Vec<(Rc<str>, ResourceId)>>,
    /// The scopes by what they bind, and how many names all of them have.
    scope_ids: HashMap<Vec<(Rc<str>, ResourceId)>, u32>,
    scoped: usize,
    /// The scope that a scope became once a resource was entered.
    entered: FxHashMap<(u32, u32), ScopeId>,
    follows_scopes: bool,
}

/// The name under which `$recursiveAnchor` is bound: the empty one, because no `$dynamicAnchor` has
/// it.
const RECURSIVE: &str = "";

#[derive(Default)]
struct Index<'a> {
    by_uri: HashMap<String, Place<'a>>,
    anchors: HashMap<(u32, String), Place<'a>>,
    dynamic: HashMap<(u32, String), Place<'a>>,
    /// The names of the dynamic anchors of each resource.
    names: FxHashMap<u32, Vec<Rc<str>>>,
}

impl<'a> Resolver<'a> {
    /// Dynamic scopes cost an index of the whole document, so they are followed on demand.
    pub(super) fn new(
        root: &'a Value,
        draft: Draft,
        rounded: Rounded,
        options: &'a ParseOptions,
        follows_scopes: bool,
    ) -> Self {
        let base = options.base_uri.as_deref().unwrap_or_default();
        let own = draft.own_id(root).map_or("", without_fragment);
        Resolver {
            resources: vec![Resource {
                value: root,
                pointer: Pointer::default(),
                uri: address(base, own),
                draft,
                rounded,
            }],
            by_address: FxHashMap::default(),
            index: None,
            documents: &options.documents,
            addresses: None,
            opened: FxHashMap::default(),
            max_nesting: options.max_nesting,
            rounded: options.rounded,
            scopes: vec![Vec::new()],
            scope_ids: HashMap::from([(Vec::new(), 0)]),
            scoped: 0,
            entered: FxHashMap::default(),
            follows_scopes,
        }
    }

    /// The draft by which a place is read.
    pub(super) fn draft_at(&self, place: &Place<'_>) -> Draft {
        self.resources[place.resource.0 as usize].draft
    }

    /// Returns the meaning of the numbers at a place that a value may have rounded.
    pub(super) fn rounded_at(&self, place: &Place<'_>) -> Rounded {
        self.resources[place.resource.0 as usize].rounded
    }

    pub(super) fn root(&mut self) -> Place<'a> {
        let scope = self.enter(NO_SCOPE, ResourceId(0));
        self.plain_root(scope)
    }

    fn plain_root(&self, scope: ScopeId) -> Place<'a> {
        Place {
            value: self.resources[0].value,
            pointer: Pointer::default(),
            resource: ResourceId(0),
            scope,
        }
    }

    /// The scope after `resource` was entered: its dynamic anchors are bound
    /// where no outer resource has bound them.
    fn enter(&mut self, scope: ScopeId, resource: ResourceId) -> ScopeId {
        if !self.follows_scopes {
            return NO_SCOPE;
        }
        if let Some(known) = self.entered.get(&(scope.0, resource.0)) {
            return *known;
        }
        self.build_index();
        let fresh = self
            .index
            .as_ref()
            .and_then(|index| index.names.get(&resource.0));
        let mut bound = self.scopes[scope.0 as usize].clone();
        for name in fresh.into_iter().flatten() {
            if let Err(at) = bound.binary_search_by(|(n, _)| n.cmp(name)) {
                bound.insert(at, (Rc::clone(name), resource));
            }
        }
        let id = match self.scope_ids.get(&bound) {
            Some(known) => *known,
            None => {
                let id = self.scopes.len() as u32;
                self.scoped += bound.len();
                self.scope_ids.insert(bound.clone(), id);
                self.scopes.push(bound);
                id
            }
        };
        let id = ScopeId(id);
        self.entered.insert((scope.0, resource.0), id);
        id
    }

    /// Returns the number of names that all dynamic scopes have together, which is the memory that
    /// they take.
    pub(super) fn scoped(&self) -> usize {
        self.scoped
    }

    /// The child of a place, in a new resource where it has an `$id`.
    pub(super) fn child(
        &mut self,
        parent: &Place<'a>,
        value: &'a Value,
        keyword: &'static str,
        last: Last,
    ) -> Place<'a> {
        let pointer = parent.pointer.below(keyword, last);
        let resource = self.resource_of(value, &pointer, parent.resource);
        let scope = if resource == parent.resource {
            parent.scope
        } else {
            self.enter(parent.scope, resource)
        };
        Place {
            value,
            pointer,
            resource,
            scope,
        }
    }

    fn resource_of(
        &mut self,
        value: &'a Value,
        pointer: &Pointer,
        parent: ResourceId,
    ) -> ResourceId {
        let outer = &self.resources[parent.0 as usize];
        let Some(id) = outer.draft.id_of(value) else {
            return parent;
        };
        if without_fragment(id).is_empty() {
            return parent;
        }
        if let Some(known) = self.resource_at(value) {
            return known;
        }
        let resource = Resource {
            value,
            pointer: pointer.clone(),
            uri: join_uri(&outer.uri, without_fragment(id)),
            draft: Draft::declared(value).unwrap_or(outer.draft),
            rounded: outer.rounded,
        };
        self.add(resource)
    }

    fn add(&mut self, resource: Resource<'a>) -> ResourceId {
        let new = ResourceId(self.resources.len() as u32);
        let value = std::ptr::from_ref(resource.value);
        self.by_address.insert(value, new);
        self.resources.push(resource);
        new
    }

    /// The resource of which this is the root.
    fn resource_at(&self, value: &Value) -> Option<ResourceId> {
        if std::ptr::eq(value, self.resources[0].value) {
            return Some(ResourceId(0));
        }
        self.by_address.get(&std::ptr::from_ref(value)).copied()
    }

    /// Says whether the schema, or a document, has a dynamic anchor anywhere.
    pub(super) fn has_dynamic_anchors(&mut self) -> bool {
        self.build_index();
        self.open_all();
        self.index.as_ref().is_some_and(|i| !i.dynamic.is_empty())
    }

    pub(super) fn follows_scopes(&self) -> bool {
        self.follows_scopes
    }

    /// Returns the place to which `reference` leads from `from`; an error is a reason.
    pub(super) fn resolve(
        &mut self,
        from: &Place<'a>,
        reference: &str,
    ) -> Result<Place<'a>, String> {
        let mut place = self.resolve_in(from.resource, reference)?;
        place.scope = self.enter(from.scope, place.resource);
        Ok(place)
    }

    /// Returns the place to which `$dynamicRef` leads (2020-12, section 8.2.3.2), or
    /// `$recursiveRef` (2019-09, section 8.2.4.2.2).
    pub(super) fn resolve_dynamic(
        &mut self,
        from: &Place<'a>,
        reference: &str,
        recursive: bool,
    ) -> Result<Place<'a>, String> {
        let first = self.resolve(from, reference)?;
        let name = if recursive {
            RECURSIVE.to_owned()
        } else {
            percent_decode(reference.split_once('#').map_or("", |(_, f)| f)).into_owned()
        };
        let bound = {
            let Some(index) = &self.index else {
                return Ok(first);
            };
            // It is dynamic only if the anchor first found is.
            match index.dynamic.get(&(first.resource.0, name.clone())) {
                Some(place) if std::ptr::eq(place.value, first.value) => {}
                _ => return Ok(first),
            }
            let scope = &self.scopes[from.scope.0 as usize];
            let owner = scope.iter().find(|(n, _)| **n == *name).map(|(_, r)| r.0);
            owner.and_then(|owner| index.dynamic.get(&(owner, name)).cloned())
        };
        let Some(mut place) = bound else {
            return Ok(first);
        };
        place.scope = self.enter(from.scope, place.resource);
        Ok(place)
    }

    fn resolve_in(&mut self, from: ResourceId, reference: &str) -> Result<Place<'a>, String> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = if uri.is_empty() {
            self.place_of(from)
        } else {
            let absolute = join_uri(&self.resources[from.0 as usize].uri, uri);
            if absolute == self.resources[0].uri {
                self.plain_root(NO_SCOPE)
            } else {
                self.find(&absolute, uri)?
                    .ok_or_else(|| self.not_at_hand(reference))?
            }
        };
        let fragment = percent_decode(fragment).into_owned();
        if fragment.is_empty() {
            return Ok(base);
        }
        if fragment.starts_with('/') {
            return match self.walk(&base, &fragment) {
                Some(place) => Ok(place),
                // An `$id` that was not meant as a new resource is common; a
                // pointer that leads nowhere in it is read from the root.
                None if uri.is_empty() && from.0 != 0 => {
                    let root = self.plain_root(NO_SCOPE);
                    self.walk(&root, &fragment)
                        .ok_or_else(|| format!("`{reference}` points nowhere"))
                }
                None => Err(format!("`{reference}` points nowhere")),
            };
        }
        self.build_index();
        let index = self.index.as_ref();
        let by_anchor =
            index.and_then(|i| i.anchors.get(&(base.resource.0, fragment.clone())).cloned());
        by_anchor.ok_or_else(|| format!("`{reference}` names no anchor of this document"))
    }

    /// The root of the resource of that URI: in the schema, a document, or inside of one.
    fn find(&mut self, absolute: &str, written: &str) -> Result<Option<Place<'a>>, String> {
        self.build_index();
        let known = |resolver: &Self| {
            let by_uri = &resolver.index.as_ref()?.by_uri;
            by_uri
                .get(absolute)
                .or_else(|| by_uri.get(written))
                .cloned()
        };
        if let Some(place) = known(self) {
            return Ok(Some(place));
        }
        if self.documents.is_empty() {
            return Ok(None);
        }
        let found = {
            let addresses = self
                .addresses
                .get_or_insert_with(|| self.documents.addresses());
            let named = |uri: &str| addresses.get(&*percent_decode(uri)).copied();
            // Servers of schemas answer to names without the ending, too.
            named(absolute).or_else(|| named(&format!("{absolute}.json")))
        };
        match found {
            Some(number) => {
                let root = self.open(number)?;
                Ok(Some(self.place_of(root)))
            }
            None => {
                self.open_all();
                Ok(known(self))
            }
        }
    }

    #[cold]
    fn not_at_hand(&self, reference: &str) -> String {
        match self.documents.is_empty() {
            true => format!(
                "`{reference}` is not in this document; put a copy of what it names in `$defs`, or compile the schema by itself with ParseOptions::documents"
            ),
            false => format!(
                "`{reference}` is neither in this document nor among the {} others at hand (ParseOptions::documents)",
                self.documents.len()
            ),
        }
    }

    /// Opens a document: what it names is found from now on. An error is a reason.
    fn open(&mut self, number: usize) -> Result<ResourceId, String> {
        if let Some(known) = self.opened.get(&number) {
            return Ok(*known);
        }
        let document = self.documents.get(number);
        let value = &document.read.value;
        let draft = Draft::declared(value).unwrap_or(self.resources[0].draft);
        let looked_at = survey::look_at(value, draft, self.max_nesting);
        looked_at.map_err(|e| format!("leads to `{}`, of which {}", document.uri, e.message()))?;
        let own = draft.own_id(value).map_or("", without_fragment);
        let rounded = match document.text {
            // Its numbers were written so.
            Some(_) => Rounded::Keep,
            None => self.rounded,
        };
        let root = self.add(Resource {
            value,
            pointer: Pointer::default().below("", Last::Document(document.uri.as_str().into())),
            uri: address(&document.uri, own),
            draft,
            rounded,
        });
        self.opened.insert(number, root);
        self.build_index();
        let place = self.place_of(root);
        let mut index = self.index.take().unwrap_or_default();
        self.add_names(&mut index, place);
        self.index = Some(index);
        Ok(root)
    }

    /// Opens every document: for names that one of them may have inside of it.
    fn open_all(&mut self) {
        for number in 0..self.documents.len() {
            // A document that cannot be read has no names.
            let _ = self.open(number);
        }
    }

    fn place_of(&self, resource: ResourceId) -> Place<'a> {
        let r = &self.resources[resource.0 as usize];
        Place {
            value: r.value,
            pointer: r.pointer.clone(),
            resource,
            scope: NO_SCOPE,
        }
    }

    fn walk(&mut self, base: &Place<'a>, pointer: &str) -> Option<Place<'a>> {
        let mut at = base.clone();
        for raw in pointer.split('/').skip(1) {
            let token = unescape(raw);
            let value = match at.value {
                Value::Object(map) => map.get(&*token)?,
                Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
            at = self.child(&at, value, "", Last::Name((*token).into()));
        }
        Some(at)
    }

    /// Finds every `$id` and anchor of the schema, once.
    fn build_index(&mut self) {
        if self.index.is_some() {
            return;
        }
        let root = self.plain_root(NO_SCOPE);
        let mut index = Index::default();
        self.add_names(&mut index, root);
        self.index = Some(index);
    }

    /// Adds every `$id` and anchor of a document.
    fn add_names(&mut self, index: &mut Index<'a>, root: Place<'a>) {
        // While names are looked for nobody may ask for them.
        let follows = std::mem::replace(&mut self.follows_scopes, false);
        let mut todo = vec![root];
        while let Some(place) = todo.pop() {
            match place.value {
                Value::Object(map) => {
                    let uri = self.resources[place.resource.0 as usize].uri.clone();
                    let owner = self.resource_at(place.value);
                    if owner == Some(place.resource) {
                        index
                            .by_uri
                            .entry(uri.clone())
                            .or_insert_with(|| place.clone());
                    }
                    // A plain name in `$id` is an anchor of the older drafts.
                    let draft = self.draft_at(&place);
                    if let Some(id) = draft.id_of(place.value) {
                        if let Some((_, name)) = id.split_once('#')
                            && !name.is_empty()
                        {
                            let key = (place.resource.0, name.to_owned());
                            index.anchors.entry(key).or_insert_with(|| place.clone());
                        }
                        index
                            .by_uri
                            .entry(id.to_owned())
                            .or_insert_with(|| place.clone());
                    }
                    for key in ["$anchor", "$dynamicAnchor"] {
                        if let Some(name) = map.get(key).and_then(Value::as_str) {
                            let key = (place.resource.0, name.to_owned());
                            index.anchors.entry(key).or_insert_with(|| place.clone());
                        }
                    }
                    let dynamic = map.get("$dynamicAnchor").and_then(Value::as_str);
                    let recursive = map.get("$recursiveAnchor") == Some(&Value::Bool(true));
                    for name in dynamic.into_iter().chain(recursive.then_some(RECURSIVE)) {
                        let key = (place.resource.0, name.to_owned());
                        let names = index.names.entry(place.resource.0).or_default();
                        let known = index.dynamic.entry(key);
                        if let Entry::Vacant(known) = known {
                            known.insert(place.clone());
                            names.push(name.into());
                        }
                    }
                    for (key, value) in map {
                        if !matches!(key.as_str(), "enum" | "const" | "default" | "examples") {
                            let last = Last::Name(key.as_str().into());
                            todo.push(self.child(&place, value, "", last));
                        }
                    }
                }
                Value::Array(items) => {
                    for (i, value) in items.iter().enumerate() {
                        todo.push(self.child(&place, value, "", Last::Index(i)));
                    }
                }
                _ => {}
            }
        }
        self.follows_scopes = follows;
    }
}

/// The value of a keyword. Comparing all of them is quicker than a hash if there are few.
pub(super) fn lookup<'v>(map: &'v Map<String, Value>, keyword: &str) -> Option<&'v Value> {
    /// The most keywords that are compared one by one, because that is quicker than a hash of the
    /// keyword.
    const FEW: usize = 12;
    if map.len() > FEW {
        return map.get(keyword);
    }
    let found = map.iter().find(|(key, _)| *key == keyword);
    found.map(|(_, value)| value)
}
