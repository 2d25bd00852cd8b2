//! How each function of CloudFormation's language is written in HOT.

use super::call;
use super::converter::Converter;
use crate::template::functions::table::{self, Position};
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};

/// What HOT has for a function.
enum Written {
    /// The function of this name, with as many arguments.
    As(&'static str, usize),
    /// The function of this name, with any list of arguments.
    AsList(&'static str),
    /// Something that is made of the arguments.
    By(for<'n> fn(&mut Converter<'n>, &'n Node, Position) -> Made),
    /// Nothing.
    No,
}

/// What is made of a call, or why nothing can be.
type Made = Result<Datum, String>;

use Written::{As, AsList, By, No};

static FORMS: [(&str, Written); 16] = [
    ("Ref", By(reference)),
    ("Fn::GetAtt", As("get_attr", 2)),
    ("Fn::FindInMap", By(find_in_map)),
    ("Fn::GetAZs", No),
    ("Fn::Select", By(select)),
    ("Fn::Join", As("list_join", 2)),
    ("Fn::Split", By(split)),
    ("Fn::Replace", By(replace)),
    ("Fn::Base64", By(as_it_is)),
    ("Fn::MemberListToMap", No),
    ("Fn::ResourceFacade", By(facade)),
    ("Fn::If", By(choice)),
    ("Fn::Equals", As("equals", 2)),
    ("Fn::Not", By(not)),
    ("Fn::And", AsList("and")),
    ("Fn::Or", AsList("or")),
];

/// The pseudo parameters that have a counterpart of the same value.
const PSEUDO: [(&str, &str); 1] = [("AWS::StackName", "OS::stack_name")];

/// The fields of `Fn::ResourceFacade`.
const FACADE: [(&str, &str); 3] = [
    ("Metadata", "metadata"),
    ("DeletionPolicy", "deletion_policy"),
    ("UpdatePolicy", "update_policy"),
];

/// Writes a call in HOT.
pub(super) fn convert<'n>(
    converter: &mut Converter<'n>,
    name: &str,
    args: &'n Node,
    position: Position,
) -> Made {
    if !table::names(converter.version, position).contains(&name) {
        return Err("This cannot stand in a condition".to_owned());
    }
    let form = FORMS.iter().find(|(known, _)| *known == name).map_or(&No, |(_, form)| form);
    match form {
        As(hot, count) => {
            counted(args, *count)?;
            Ok(call(hot, converter.value(args, position)))
        }
        AsList(hot) => {
            args.as_list().ok_or("The arguments must be a list")?;
            Ok(call(hot, converter.value(args, position)))
        }
        By(make) => make(converter, args, position),
        No => Err("HOT has nothing for this".to_owned()),
    }
}

/// The arguments, of which there must be as many.
fn counted(args: &Node, count: usize) -> Result<&[Node], String> {
    let list = args.as_list().filter(|list| list.len() == count);
    list.ok_or_else(|| format!("The arguments must be a list of {count}"))
}

fn reference<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    let name = args.as_text().ok_or("What is referred to must be a name")?;
    let resource = converter.resource_named(name).filter(|_| position == Position::Value);
    let is_parameter = converter.parameter_named(name).is_some();
    if let Some(resource) = resource {
        let may_be_absent = resource.get(converter.version.dialect.resource.condition).is_some();
        return match is_parameter && may_be_absent {
            true => Err(format!("{name} is a parameter or a resource, as a condition decides")),
            false => Ok(call("get_resource", name.into())),
        };
    }
    if is_parameter {
        return Ok(call("get_param", name.into()));
    }
    if let Some((_, hot)) = PSEUDO.iter().find(|(cfn, _)| *cfn == name) {
        return Ok(call("get_param", (*hot).into()));
    }
    Err(match name.starts_with("AWS::") {
        true => format!("HOT has no pseudo parameter of the value of {name}"),
        false => format!("There is no parameter or resource {name}"),
    })
}

fn find_in_map<'n>(converter: &mut Converter<'n>, args: &'n Node, _: Position) -> Made {
    let keys: Option<Vec<&str>> = counted(args, 3)?.iter().map(Node::as_text).collect();
    match keys.as_deref() {
        Some([mapping, first, second]) => converter.mapped([mapping, first, second]),
        _ => Err("HOT has no mappings, and only keys as they are can be looked up now".to_owned()),
    }
}

/// An index or a key, as it is.
fn literal(node: &Node) -> Option<Datum> {
    match &node.form {
        Form::Int(0..) => Some(node.to_datum()),
        Form::Text(text) => {
            Some(text.parse().map_or_else(|_| node.to_datum(), |at: u32| Datum::Int(at.into())))
        }
        _ => None,
    }
}

fn select<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    let no_form =
        || "HOT selects only with an index as it is, of a parameter, a split or a list".to_owned();
    let [index, collection] = counted(args, 2)? else { return Err(no_form()) };
    let wanted = literal(index).ok_or_else(no_form)?;
    let Some((name, inner)) = converter.call_in(collection, position) else {
        return select_now(converter, &wanted, collection, position).ok_or_else(no_form);
    };
    match (name, wanted) {
        ("Ref", wanted) => {
            let parameter = inner.as_text().ok_or_else(no_form)?;
            let declared = converter.parameter_named(parameter).ok_or_else(no_form)?;
            let kind = declared.get(converter.version.dialect.parameter.kind);
            let kind = kind.and_then(Node::as_text).unwrap_or_default();
            let is_map = kind == "Json";
            let is_list = kind == "CommaDelimitedList" && matches!(wanted, Datum::Int(_));
            if converter.resource_named(parameter).is_some() || !(is_map || is_list) {
                return Err(no_form());
            }
            // The key of a map stays the text that it is.
            let key = if is_map { index.to_datum() } else { wanted };
            Ok(call("get_param", Datum::List(vec![parameter.into(), key])))
        }
        ("Fn::Split", wanted @ Datum::Int(_)) => {
            let mut parts = split_parts(converter, inner, position)?;
            parts.push(wanted);
            Ok(call("str_split", Datum::List(parts)))
        }
        _ => Err(no_form()),
    }
}

/// The item of a list as written; nothing where what is left out may be a call.
fn select_now<'n>(
    converter: &mut Converter<'n>,
    wanted: &Datum,
    collection: &'n Node,
    position: Position,
) -> Option<Datum> {
    let (Datum::Int(at), Form::List(items)) = (wanted, &collection.form) else { return None };
    let is_plain = |item: &Node| !matches!(item.form, Form::List(_) | Form::Map(_));
    let at = usize::try_from(*at).ok()?;
    let others = items.iter().enumerate().filter(|(index, _)| *index != at);
    if !others.map(|(_, item)| item).all(is_plain) {
        return None;
    }
    Some(items.get(at).map_or_else(|| "".into(), |item| converter.value(item, position)))
}

fn split<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    Ok(call("str_split", Datum::List(split_parts(converter, args, position)?)))
}

fn split_parts<'n>(
    converter: &mut Converter<'n>,
    args: &'n Node,
    position: Position,
) -> Result<Vec<Datum>, String> {
    match counted(args, 2)? {
        [delimiter, text] if delimiter.as_text().is_some() => {
            Ok(vec![delimiter.to_datum(), converter.value(text, position)])
        }
        _ => Err("The delimiter must be a text".to_owned()),
    }
}

fn replace<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    let mut out = DatumMap::default();
    for (key, node) in ["params", "template"].into_iter().zip(counted(args, 2)?) {
        out.insert(key.into(), converter.value(node, position));
    }
    Ok(call("str_replace", Datum::Map(out)))
}

/// Heat encodes nothing, so that the text can stand by itself.
fn as_it_is<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    Ok(converter.value(args, position))
}

fn facade<'n>(_: &mut Converter<'n>, args: &'n Node, _: Position) -> Made {
    let field = FACADE.iter().find(|(cfn, _)| args.as_text() == Some(cfn));
    let (_, hot) = field.ok_or("The field must be Metadata, DeletionPolicy or UpdatePolicy")?;
    Ok(call("resource_facade", (*hot).into()))
}

fn choice<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    let mut out = Vec::new();
    for (index, node) in counted(args, 3)?.iter().enumerate() {
        let position = if index == 0 { Position::Condition } else { position };
        out.push(converter.value(node, position));
    }
    Ok(call("if", Datum::List(out)))
}

fn not<'n>(converter: &mut Converter<'n>, args: &'n Node, position: Position) -> Made {
    let items = counted(args, 1)?;
    let condition = items.first().map_or(Datum::Null, |node| converter.value(node, position));
    Ok(call("not", condition))
}
