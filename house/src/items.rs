//! The functions, types, fields and constants of a crate's product code.
//!
//! For example, `impl Stack { fn push(&mut self, value: u8, deep: bool) }` is a method of `Stack`
//! with one boolean parameter.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::crates::File;

/// The items of a file.
#[derive(Default)]
pub(crate) struct Items {
    pub(crate) functions: Vec<Function>,
    /// The types that are declared, by name and place.
    pub(crate) types: Vec<(String, String)>,
    pub(crate) fields: Vec<Field>,
    /// The methods of each public trait.
    pub(crate) traits: Vec<(String, Vec<String>)>,
    /// The constants and statics that give no reason, as places.
    pub(crate) without_reason: Vec<String>,
}

/// A function or method.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) at: String,
    pub(crate) lines: usize,
    pub(crate) openness: Openness,
    pub(crate) boolean_parameters: usize,
    pub(crate) tuple_parameters: usize,
    /// The path of the type that it is an inherent method of.
    pub(crate) method_of: Option<Vec<String>>,
}

impl Function {
    /// Returns the name by which other crates import it: its type's, if it is a method.
    pub(crate) fn imported_by(&self) -> &str {
        let owner = self.method_of.as_ref().and_then(|path| path.last());
        owner.unwrap_or(&self.name)
    }
}

/// A field of a structure.
pub(crate) struct Field {
    pub(crate) openness: Openness,
    pub(crate) at: String,
    /// The type that it is of.
    pub(crate) of: String,
}

/// The reach of an item's visibility.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Openness {
    /// Its module or the one above alone sees it.
    Module,
    /// All of the crate sees it, or a part that is named by a path, and nobody else.
    Crate,
    /// Everybody sees it, if its module allows that.
    Public,
}

impl Items {
    pub(crate) fn of(file: &File) -> Self {
        let mut reader = Reader {
            file,
            items: Self::default(),
            inherent: None,
            declared: String::new(),
        };
        for item in &file.items {
            reader.visit_item(item);
        }
        reader.items
    }
}

struct Reader<'a> {
    file: &'a File,
    items: Items,
    /// The type of the inherent `impl` that is read.
    inherent: Option<Vec<String>>,
    /// The type whose declaration is read.
    declared: String,
}

impl Reader<'_> {
    fn function(
        &mut self,
        signature: &syn::Signature,
        visibility: &syn::Visibility,
        all: proc_macro2::Span,
        method_of: Option<Vec<String>>,
    ) {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(typed),
            syn::FnArg::Receiver(_) => None,
        });
        let mut boolean_parameters = 0;
        let mut tuple_parameters = 0;
        for parameter in typed {
            let is_boolean =
                matches!(&*parameter.ty, syn::Type::Path(path) if path.path.is_ident("bool"));
            let is_tuple = matches!(&*parameter.pat, syn::Pat::Tuple(_))
                || matches!(&*parameter.ty, syn::Type::Tuple(tuple) if !tuple.elems.is_empty());
            boolean_parameters += usize::from(is_boolean);
            tuple_parameters += usize::from(is_tuple);
        }
        // The attributes and documentation before a function are not part of it.
        let first = signature.span().start().line;
        self.items.functions.push(Function {
            name: signature.ident.to_string(),
            at: self.file.at(signature.ident.span()),
            lines: all.end().line + 1 - first,
            openness: openness(visibility),
            boolean_parameters,
            tuple_parameters,
            method_of,
        });
    }

    fn declare(&mut self, name: &syn::Ident) {
        self.declared = name.to_string();
        self.items
            .types
            .push((name.to_string(), self.file.at(name.span())));
    }

    fn constant(&mut self, name: &syn::Ident, attributes: &[syn::Attribute]) {
        let documentation = documentation(attributes).to_lowercase();
        // The comment above, where it is no documentation.
        let line = name.span().start().line - 1;
        let mut comment = String::new();
        for before in self.file.lines[..line].iter().rev() {
            let text = before.text.trim();
            if !text.starts_with("//") && !text.starts_with("#[") {
                break;
            }
            comment.push_str(&text.to_lowercase());
        }
        let reasons = [
            "because",
            "since ",
            "so that",
            "otherwise",
            "RFC",
            "ECMA",
            "as ",
        ];
        if !reasons.iter().any(|reason| {
            documentation.contains(&reason.to_lowercase())
                || comment.contains(&reason.to_lowercase())
        }) {
            self.items
                .without_reason
                .push(format!("{} {name}", self.file.at(name.span())));
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.vis, item.block.span(), None);
        let outside = self.inherent.take();
        visit::visit_item_fn(self, item);
        self.inherent = outside;
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outside = self.inherent.take();
        if item.trait_.is_none() {
            self.inherent = match &*item.self_ty {
                syn::Type::Path(path) => Some(
                    path.path
                        .segments
                        .iter()
                        .map(|part| part.ident.to_string())
                        .collect(),
                ),
                _ => None,
            };
        }
        visit::visit_item_impl(self, item);
        self.inherent = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let method_of = self.inherent.clone();
        self.function(&item.sig, &item.vis, item.block.span(), method_of);
        let outside = self.inherent.take();
        visit::visit_impl_item_fn(self, item);
        self.inherent = outside;
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.sig, &syn::Visibility::Inherited, item.span(), None);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.declare(&item.ident);
        if matches!(item.vis, syn::Visibility::Public(_)) {
            let methods = item.items.iter().filter_map(|item| match item {
                syn::TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
                _ => None,
            });
            self.items
                .traits
                .push((item.ident.to_string(), methods.collect()));
        }
        visit::visit_item_trait(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declare(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declare(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.items.fields.push(Field {
            openness: openness(&field.vis),
            at: self.file.at(field.span()),
            of: self.declared.clone(),
        });
        visit::visit_field(self, field);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if item.ident != "_" {
            self.constant(&item.ident, &item.attrs);
        }
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(&item.ident, &item.attrs);
    }
}

fn openness(visibility: &syn::Visibility) -> Openness {
    match visibility {
        syn::Visibility::Restricted(restricted)
            if !restricted.path.is_ident("super") && !restricted.path.is_ident("self") =>
        {
            Openness::Crate
        }
        syn::Visibility::Public(_) => Openness::Public,
        _ => Openness::Module,
    }
}

/// Returns the text of the documentation among attributes.
fn documentation(attributes: &[syn::Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(line),
                ..
            }) = &pair.value
        {
            text.push_str(&line.value());
            text.push('\n');
        }
    }
    text
}
