//! Which files of a crate use which others, and the cycles among them.
//!
//! A file uses another if one of its items names an item of the other. A re-export (`pub use`) only gives an item a second
//! path, so it is followed and does not count by itself. Tests do not count. Methods are not resolved; the types on
//! which they are defined are.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

/// For each file of a crate, the files that it uses.
pub(crate) type FileUses = BTreeMap<String, BTreeSet<String>>;

/// Computes which files of a crate use which others, from the path below `src` and the text of each file.
pub(crate) fn file_uses(files: &[(String, String)]) -> Result<FileUses> {
    let mut modules = BTreeMap::new();
    let mut paths = Vec::new();
    for (path, text) in files {
        let parsed = syn::parse_file(text).with_context(|| path.clone())?;
        let mut module = Module::of(path);
        for item in parsed.items.iter().filter(|item| !is_test(item)) {
            let known = module.imports.len();
            module.define(item);
            let mut names = Names::default();
            match item {
                // A trait that is imported for its methods is not named anywhere else.
                Item::Use(item) if matches!(item.vis, Visibility::Inherited) => {
                    let imported = module.imports[known..].iter();
                    names.paths.extend(imported.map(|import| import.path.clone()));
                }
                Item::Use(_) => {}
                _ => names.visit_item(item),
            }
            paths.push((module_path(path), names.paths));
        }
        modules.insert(module_path(path), module);
    }
    let mut uses = FileUses::new();
    for (from, names) in &paths {
        let file = &modules[from].file;
        for name in names {
            let target = resolve(&modules, from, name, &mut BTreeSet::new());
            if let Some(target) = target.filter(|target| target != file) {
                uses.entry(file.clone()).or_default().insert(target);
            }
        }
    }
    Ok(uses)
}

/// The sets of files that use each other, directly or through others.
pub(crate) fn cycles(uses: &FileUses) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for file in uses.keys() {
        if found.iter().flatten().any(|member| member == file) {
            continue;
        }
        let ahead = reachable(uses, file);
        let cycle = ahead.iter().filter(|other| reachable(uses, other).contains(file));
        let cycle: Vec<String> = cycle.cloned().collect();
        if !cycle.is_empty() {
            found.push(cycle);
        }
    }
    found
}

/// The same graph between the modules at the top of the crate. The root itself is left out.
pub(crate) fn of_modules(uses: &FileUses) -> FileUses {
    let module = |file: &String| module_path(file).into_iter().next();
    let mut modules = FileUses::new();
    for (file, targets) in uses {
        for (from, to) in targets.iter().filter_map(|to| Some((module(file)?, module(to)?))) {
            if from != to {
                modules.entry(from).or_default().insert(to);
            }
        }
    }
    modules
}

/// The files that can be reached from a file in at least one step.
fn reachable(uses: &FileUses, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for target in uses.get(file).into_iter().flatten() {
            if found.insert(target.clone()) {
                open.push(target);
            }
        }
    }
    found
}

/// The module that a file holds: `a/b.rs` and `a/b/mod.rs` hold `a::b`.
fn module_path(file: &str) -> Vec<String> {
    let mut path: Vec<String> = file
        .trim_end_matches(".rs")
        .split('/')
        .map(String::from)
        .collect();
    if path
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        path.pop();
    }
    path
}

/// What a file defines and imports.
struct Module {
    file: String,
    items: BTreeSet<String>,
    imports: Vec<Import>,
}

/// One name that a `use` brings into a module; `None` is a glob.
struct Import {
    name: Option<String>,
    path: Vec<String>,
}

impl Module {
    fn of(file: &str) -> Self {
        Module {
            file: file.into(),
            items: BTreeSet::new(),
            imports: Vec::new(),
        }
    }

    /// Adds the name of an item, or the names that it imports.
    fn define(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Macro(item) => match &item.ident {
                Some(name) => name,
                None => return,
            },
            Item::Use(item) => return self.import(&item.tree, Vec::new()),
            _ => return,
        };
        self.items.insert(name.to_string());
    }

    fn import(&mut self, tree: &UseTree, mut path: Vec<String>) {
        let (name, last) = match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                return self.import(&tree.tree, path);
            }
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.import(tree, path.clone()));
            }
            UseTree::Glob(_) => (None, None),
            UseTree::Name(tree) => (Some(tree.ident.to_string()), Some(tree.ident.to_string())),
            UseTree::Rename(tree) => (Some(tree.rename.to_string()), Some(tree.ident.to_string())),
        };
        // `use a::{self}` imports `a`.
        let (name, last) = match last.as_deref() {
            Some("self") => (path.last().cloned(), None),
            _ => (name, last),
        };
        path.extend(last);
        self.imports.push(Import { name, path });
    }
}

/// The paths that an item names.
#[derive(Default)]
struct Names {
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        self.paths.push(segments.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

impl Names {
    /// The paths in the tokens of a macro: identifiers joined by `::`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.paths.push(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.paths.push(std::mem::take(&mut path));
                    self.tokens(group.stream());
                    colons = 0;
                }
                _ => {
                    self.paths.push(std::mem::take(&mut path));
                    colons = 0;
                }
            }
        }
        self.paths.push(path);
    }
}

/// Whether an item is compiled for tests only.
fn is_test(item: &Item) -> bool {
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        let arguments = attribute.meta.require_list().map(|list| list.tokens.to_string());
        attribute.path().is_ident("cfg") && arguments.is_ok_and(|text| text == "test" || text == "doctest")
    })
}

/// The file of the item that a path means in a module; `None` for items of other crates and for modules.
fn resolve(
    modules: &BTreeMap<Vec<String>, Module>,
    from: &[String],
    path: &[String],
    visited: &mut BTreeSet<(Vec<String>, Vec<String>)>,
) -> Option<String> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => inside(modules, &[], rest, visited),
        "self" => inside(modules, from, rest, visited),
        "super" => {
            let (_, parent) = from.split_last()?;
            // `super::super` goes up again.
            match rest.first().map(String::as_str) {
                Some("super") => resolve(modules, parent, rest, visited),
                _ => inside(modules, parent, rest, visited),
            }
        }
        _ => inside(modules, from, path, visited),
    }
}

/// The file of the item that a path means, relative to a module.
fn inside(
    modules: &BTreeMap<Vec<String>, Module>,
    module: &[String],
    path: &[String],
    visited: &mut BTreeSet<(Vec<String>, Vec<String>)>,
) -> Option<String> {
    /// Cap: an import such as `use name::name` of another crate's module would make the path longer without end.
    const LONGEST_PATH: usize = 32;
    let (first, rest) = path.split_first()?;
    if path.len() > LONGEST_PATH || !visited.insert((module.to_vec(), path.to_vec())) {
        return None;
    }
    let child = [module, std::slice::from_ref(first)].concat();
    if modules.contains_key(&child) && !rest.is_empty() {
        return inside(modules, &child, rest, visited);
    }
    let here = modules.get(module)?;
    if here.items.contains(first) {
        return Some(here.file.clone());
    }
    let named = here
        .imports
        .iter()
        .filter(|import| import.name.as_ref() == Some(first));
    let globs = here.imports.iter().filter(|import| import.name.is_none());
    let mut targets = named
        .map(|import| [&import.path, rest].concat())
        .chain(globs.map(|import| [&import.path, path].concat()));
    targets.find_map(|target| resolve(modules, module, &target, visited))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let owned = files
            .iter()
            .map(|&(path, text)| (path.to_string(), text.to_string()));
        cycles(&file_uses(&owned.collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn an_import_of_a_name_from_a_module_of_that_name_ends() {
        // `other` is a crate, and so is `separate`, which has an item of its own name.
        let a = (
            "lib.rs",
            "pub use separate::separate; pub use other::*; fn f() { separate::g() }",
        );
        assert!(cycles_of(&[a]).is_empty());
    }

    #[test]
    fn a_cycle_of_any_length_is_found() {
        let a = ("a.rs", "use crate::b::X; pub struct A(X);");
        let b = ("b/mod.rs", "mod c;\npub use c::X;");
        let c = ("b/c.rs", "pub struct X; /* crate::a::A */");
        assert!(cycles_of(&[a, b, c]).is_empty());
        let back = ("b/c.rs", "pub struct X; fn f() -> super::super::a::A { todo!() }");
        assert_eq!(cycles_of(&[a, b, back]), [["a.rs", "b/c.rs"]]);
        let round = ("b/c.rs", "use super::Y; pub struct X; fn f(y: Y) {}");
        let parent = ("b/mod.rs", "pub struct Y; fn g() { c::f(Y) }");
        assert_eq!(cycles_of(&[round, parent]), [["b/c.rs", "b/mod.rs"]]);
    }

    #[test]
    fn tests_and_reexports_do_not_count_and_macros_and_traits_do() {
        let parent = ("a/mod.rs", "mod b;\npub use b::X;\npub trait T {}");
        let child = (
            "a/b.rs",
            "pub struct X;\n#[cfg(test)]\nmod tests { use super::super::T; }",
        );
        assert!(cycles_of(&[parent, child]).is_empty());
        let in_macro = (
            "a/mod.rs",
            "pub trait T {}\nmacro_rules! m { () => { $crate::a::b::X } }",
        );
        let in_use = ("a/b.rs", "use crate::a::T;\npub struct X;");
        assert_eq!(cycles_of(&[in_macro, in_use]).len(), 1);
    }

    #[test]
    fn modules_are_folders_at_the_top() {
        let files = [
            ("a/mod.rs", "mod x;\nmod z;"),
            ("b/mod.rs", "mod y;"),
            ("a/x.rs", "use crate::b::y::Y;"),
            ("a/z.rs", "pub struct Z;"),
            ("b/y.rs", "pub struct Y;\nuse crate::a::z::Z;"),
        ];
        let owned = files.map(|(path, text)| (path.to_string(), text.to_string()));
        let uses = file_uses(&owned).unwrap();
        assert!(cycles(&uses).is_empty());
        assert_eq!(cycles(&of_modules(&uses)), [["a", "b"]]);
    }
}
