//! The imports between the source files of a crate make no cycle.
//!
//! A module may use what the modules around it define: `journal/ring.rs` what `journal/mod.rs` defines, and each file what the
//! root of the crate defines. These imports are not counted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, Item, ItemUse, Meta, UseTree,
    visit::{self, Visit},
};

/// A module by its names from the root of the crate: `["journal", "ring"]`.
type Module = Vec<String>;

/// The source files of a crate.
struct Crate {
    files: BTreeMap<Module, SourceFile>,
}

struct SourceFile {
    path: PathBuf,
    items: Vec<Item>,
    /// The names that the file imports, with their full paths.
    imported: BTreeMap<String, Vec<String>>,
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut files = BTreeMap::new();
        read_folder(source, &[], &mut files);
        let mut all = Crate { files };
        let modules: Vec<Module> = all.files.keys().cloned().collect();
        for module in modules {
            let mut imported = BTreeMap::new();
            for item in &all.files[&module].items {
                let Item::Use(ItemUse { tree, .. }) = item else { continue };
                for (name, path) in leaves(tree) {
                    if let Some(path) = all.absolute(&module, &path) {
                        imported.insert(name, path);
                    }
                }
            }
            all.files.get_mut(&module).unwrap().imported = imported;
        }
        all
    }

    /// The path from the root of the crate; `None` if it is of another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?.as_str();
        let (mut at, mut rest) = match first {
            "crate" => (Module::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => (module.clone(), path),
            _ => {
                let child: Module = module.iter().cloned().chain([first.to_owned()]).collect();
                return self.files.contains_key(&child).then(|| [&child[..], &path[1..]].concat());
            }
        };
        while let ["super", ..] = rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            at.pop()?;
            rest = &rest[1..];
        }
        at.extend_from_slice(rest);
        Some(at)
    }

    /// The path from the root of the crate of what a path in the code of a file names; `None` if it is of another crate.
    fn resolved(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        self.absolute(module, path).or_else(|| {
            let imported = self.files[module].imported.get(path.first()?)?;
            Some([imported, &path[1..]].concat())
        })
    }

    /// The file that defines what a path names, also through files that import it and hand it on.
    fn definition(&self, path: &[String], depth: usize) -> Module {
        let longest = (0..=path.len()).rev().find(|&length| self.files.contains_key(&path[..length]));
        let length = longest.unwrap_or_default();
        let module = path[..length].to_vec();
        let handed_on = path.get(length).and_then(|name| self.files[&module].imported.get(name));
        match handed_on.filter(|_| depth < 10) {
            Some(other) => self.definition(&[&other[..], &path[length + 1..]].concat(), depth + 1),
            None => module,
        }
    }

    /// The files that each file imports, with one of the names.
    fn imports(&self) -> BTreeMap<&Module, BTreeMap<Module, String>> {
        let of = |(module, file): (&Module, &SourceFile)| {
            let mut found = Paths { paths: Vec::new() };
            for item in &file.items {
                found.visit_item(item);
            }
            let mut imports = BTreeMap::new();
            for path in found.paths {
                let Some(path) = self.resolved(module, &path) else { continue };
                let target = self.definition(&path, 0);
                if !module.starts_with(&target) {
                    imports.entry(target).or_insert_with(|| path.join("::"));
                }
            }
            imports
        };
        self.files.iter().map(|(module, file)| (module, of((module, file)))).collect()
    }

    /// The imports that are part of a cycle.
    fn cycles(&self) -> Vec<String> {
        let imports = self.imports();
        let reaches = |from: &Module, to: &Module| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(module) = next.pop() {
                if module == to {
                    return true;
                }
                if seen.insert(module) {
                    next.extend(imports[module].keys());
                }
            }
            false
        };
        let all = imports.iter().flat_map(|(from, targets)| targets.iter().map(move |to| (*from, to)));
        let cyclic = all.filter(|(from, (to, _))| reaches(to, from));
        let line = |(from, (to, name)): (&Module, (&Module, &String))| {
            format!("{} imports {name} of {}", self.files[from].path.display(), self.files[to].path.display())
        };
        cyclic.map(line).collect()
    }
}

fn read_folder(folder: &Path, module: &[String], files: &mut BTreeMap<Module, SourceFile>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            read_folder(&path, &[module, &[name]].concat(), files);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let items: Vec<Item> = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap().items;
            let is_root = ["lib", "main", "mod"].contains(&name.as_str());
            let module = if is_root { module.to_vec() } else { [module, &[name]].concat() };
            let file = SourceFile { path, items, imported: BTreeMap::new() };
            assert!(files.insert(module.clone(), file).is_none(), "{module:?} has two files");
        }
    }
}

/// The names that a `use` brings in, each with its path.
fn leaves(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    let with = |first: String, rest: Vec<(String, Vec<String>)>| {
        let whole = rest.into_iter().map(move |(name, path)| (name, [&[first.clone()][..], &path].concat()));
        whole.collect()
    };
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let selfs = leaves(&path.tree).into_iter().map(|(name, rest)| {
                if rest == ["self"] {
                    (if name == "self" { first.clone() } else { name }, Vec::new())
                } else {
                    (name, rest)
                }
            });
            with(first.clone(), selfs.collect())
        }
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(name) => vec![(name.rename.to_string(), vec![name.ident.to_string()])],
        UseTree::Glob(_) => vec![("*".into(), Vec::new())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// The paths of a file outside of its tests, except those that it only hands on.
struct Paths {
    paths: Vec<Vec<String>>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        _ => false,
    })
}

impl<'f> Visit<'f> for Paths {
    fn visit_item_mod(&mut self, item: &'f syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'f ItemUse) {
        let is_handed_on = !matches!(item.vis, syn::Visibility::Inherited);
        if !is_test(&item.attrs) && !is_handed_on {
            self.paths.extend(leaves(&item.tree).into_iter().map(|(_, path)| path));
        }
    }

    fn visit_path(&mut self, path: &'f syn::Path) {
        if path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

#[test]
fn files_of_a_crate_import_each_other_in_one_direction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let sources: Vec<_> =
        crates.chain([root.join("bench"), root.join("torture")]).map(|one| one.join("src")).collect();
    assert!(sources.len() > 12, "{sources:?}");
    let cycles: Vec<_> = sources.iter().flat_map(|source| Crate::read(source).cycles()).collect();
    assert_eq!(cycles, Vec::<String>::new());
}
