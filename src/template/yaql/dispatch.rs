//! Calls a function by name: among those of the name it finds the one that takes the arguments,
//! which are evaluated once, or not at all where they are taken as lambdas.

use std::rc::Rc;

use super::call::{Call, Lambda, Slot};
use super::expression::Expression;
use super::failure;
use super::library::{self, Definition};
use super::limits;
use super::machine::Machine;
use super::mismatch;
use super::signature::{Arg, Default, Kind, Parameter};
use super::value::Value;
use super::value::context::Context;
use super::value::stream::limited;
use crate::template::error::Outcome;

/// A function that may be meant; one that `def` made has a body.
struct Candidate {
    definition: &'static Definition,
    body: Option<Lambda>,
}

/// A candidate with the parameter for each argument.
struct Fit {
    candidate: Candidate,
    positional: Vec<&'static Parameter>,
    named: Vec<(String, &'static Parameter)>,
}

/// A call whose functions and parameters are known, its arguments not yet evaluated.
struct Plan {
    args: Vec<Arg>,
    named: Vec<(String, Arg)>,
    /// Whether each argument is passed on unevaluated.
    lazy: Vec<bool>,
    lazy_named: Vec<bool>,
    /// What fits so far, layer by layer.
    fits: Vec<Vec<Fit>>,
}

/// Calls a function, or with a receiver a method. Its parts are functions of their own, so that
/// calls within calls take little of the stack.
pub(super) fn call(
    machine: &mut Machine,
    name: &str,
    receiver: Option<Value>,
    args: Vec<Arg>,
    named: Vec<(String, Arg)>,
    context: &Rc<Context>,
) -> Outcome<Value> {
    machine.step(2)?;
    let mut plan = plan(name, receiver.as_ref(), args, named, context)?;
    evaluate_args(machine, &mut plan, context)?;
    let fit = choose(name, receiver.as_ref(), &mut plan)?;
    run(machine, &fit, plan, context)
}

fn plan(
    name: &str,
    receiver: Option<&Value>,
    args: Vec<Arg>,
    named: Vec<(String, Arg)>,
    context: &Rc<Context>,
) -> Outcome<Plan> {
    let layers = candidates(name, receiver.is_some(), context);
    let Some(first) = layers.iter().flatten().next() else {
        return Err(mismatch::unknown(name, receiver));
    };
    let takes_names = first.definition.takes_names;
    if layers.iter().flatten().any(|other| other.definition.takes_names != takes_names) {
        return Err(mismatch::ambiguous(name, receiver));
    }
    let all = receiver.cloned().map(Arg::Value).into_iter().chain(args).collect();
    let (args, named) = by_name(takes_names, all, named)?;

    let mut lazy: Option<(Vec<bool>, Vec<bool>)> = None;
    let mut fits = Vec::new();
    for layer in layers {
        let fitting: Vec<Fit> =
            layer.into_iter().filter_map(|candidate| fit(candidate, &args, &named)).collect();
        for fit in &fitting {
            let is_lazy = (
                fit.positional.iter().map(|parameter| parameter.is_lazy()).collect(),
                fit.named.iter().map(|(_, parameter)| parameter.is_lazy()).collect(),
            );
            if *lazy.get_or_insert_with(|| is_lazy.clone()) != is_lazy {
                return Err(mismatch::ambiguous(name, receiver));
            }
        }
        fits.push(fitting);
    }
    let (lazy, lazy_named) = lazy.ok_or_else(|| mismatch::no_match(name, receiver))?;
    Ok(Plan { args, named, lazy, lazy_named, fits })
}

/// Evaluates the arguments in place, but for those that are taken as they are.
fn evaluate_args(machine: &mut Machine, plan: &mut Plan, context: &Rc<Context>) -> Outcome<()> {
    let args = plan.args.iter_mut().zip(&plan.lazy);
    let named = plan.named.iter_mut().map(|(_, arg)| arg).zip(&plan.lazy_named);
    for (arg, is_lazy) in args.chain(named) {
        if let (Arg::Expression(expression), false) = (&arg, *is_lazy) {
            *arg = Arg::Value(context.evaluator().evaluate(machine, expression, context)?);
        }
    }
    Ok(())
}

/// The function that takes the evaluated arguments, in the nearest layer that has one.
fn choose(name: &str, receiver: Option<&Value>, plan: &mut Plan) -> Outcome<Fit> {
    for fits in std::mem::take(&mut plan.fits) {
        let mut chosen: Option<Fit> = None;
        for fit in fits.into_iter().filter(|fit| takes(fit, &plan.args, &plan.named)) {
            chosen = match chosen {
                None => Some(fit),
                Some(other) if is_narrower(&other, &fit) => Some(other),
                Some(other) if is_narrower(&fit, &other) => Some(fit),
                Some(_) => return Err(mismatch::ambiguous(name, receiver)),
            };
        }
        if let Some(fit) = chosen {
            return Ok(fit);
        }
    }
    Err(mismatch::no_match(name, receiver))
}

/// The functions of a name, layer by layer: those of `def`, the nearest first, then the library.
fn candidates(name: &str, is_method: bool, context: &Rc<Context>) -> Vec<Vec<Candidate>> {
    let name = name.trim_end_matches('_');
    let mut layers = Vec::new();
    if !is_method {
        for (body, context) in context.functions(name) {
            let body = Some(Lambda { body: Arg::Expression(body), context });
            layers.push(vec![Candidate { definition: library::defined(), body }]);
        }
    }
    let known = library::lookup(name).iter().filter(|definition| definition.is(is_method));
    let known: Vec<_> = known.map(|definition| Candidate { definition, body: None }).collect();
    if !known.is_empty() {
        layers.push(known);
    }
    layers
}

/// Takes rules among the arguments as arguments with names, where the function knows such.
#[expect(clippy::type_complexity, reason = "two lists of arguments")]
fn by_name(
    takes_names: bool,
    args: Vec<Arg>,
    mut named: Vec<(String, Arg)>,
) -> Outcome<(Vec<Arg>, Vec<(String, Arg)>)> {
    if !takes_names {
        return match named.first() {
            Some((name, _)) => Err(failure::argument(name)),
            None => Ok((args, named)),
        };
    }
    let mut positional = Vec::with_capacity(args.len());
    let mut from_rules: Vec<(String, Arg)> = Vec::new();
    for arg in args {
        let Arg::Expression(expression) = &arg else {
            positional.push(arg);
            continue;
        };
        let Expression::Rule(source, destination) = expression.as_ref() else {
            positional.push(arg);
            continue;
        };
        let Expression::Keyword(name) = source.as_ref() else { return Err(failure::rule()) };
        let value = Arg::Expression(std::sync::Arc::clone(destination));
        match from_rules.iter_mut().find(|(known, _)| known == name) {
            Some(entry) => entry.1 = value,
            None => from_rules.push((name.clone(), value)),
        }
    }
    if named.iter().any(|(name, _)| from_rules.iter().any(|(known, _)| known == name)) {
        return Err(failure::rule());
    }
    from_rules.append(&mut named);
    Ok((positional, from_rules))
}

/// Finds the parameter for each argument; none where one has no place or does not fit.
fn fit(candidate: Candidate, args: &[Arg], named: &[(String, Arg)]) -> Option<Fit> {
    let signature = &candidate.definition.signature;
    let mut positional: Vec<Option<&'static Parameter>> = vec![signature.rest.as_ref(); args.len()];
    let mut by_name: Vec<Option<&'static Parameter>> = vec![None; named.len()];
    for (index, parameter) in signature.positional.iter().enumerate() {
        let place = named.iter().position(|(name, _)| *name == parameter.name);
        match (args.get(index), place) {
            (Some(Arg::Expression(_) | Arg::Value(_)), Some(_)) => return None,
            (Some(Arg::Expression(_) | Arg::Value(_)), None) => {
                positional[index] = Some(parameter);
            }
            (_, Some(place)) => {
                by_name[place] = Some(parameter);
                if args.get(index).is_some() {
                    // It has its value by name, and nothing has the place it left out.
                    positional[index] = signature.rest.as_ref();
                }
            }
            (_, None) if parameter.default == Default::Required => return None,
            (Some(Arg::Absent), None) => positional[index] = Some(parameter),
            (None, None) => {}
        }
    }
    let positional: Option<Vec<_>> = positional.into_iter().collect();
    let positional = positional?;
    let by_name: Option<Vec<_>> = by_name
        .into_iter()
        .zip(named)
        .map(|(parameter, (name, _))| Some((name.clone(), parameter.or(signature.named.as_ref())?)))
        .collect();
    let by_name = by_name?;
    let all_fit = positional.iter().zip(args).all(|(parameter, arg)| parameter.may_take(arg))
        && by_name.iter().zip(named).all(|((_, parameter), (_, arg))| parameter.may_take(arg));
    all_fit.then_some(Fit { candidate, positional, named: by_name })
}

/// Whether the evaluated arguments fit.
fn takes(fit: &Fit, args: &[Arg], named: &[(String, Arg)]) -> bool {
    let mut args = fit.positional.iter().zip(args);
    let mut named = fit.named.iter().zip(named);
    args.all(|(parameter, arg)| parameter.may_take(arg))
        && named.all(|((_, parameter), (_, arg))| parameter.may_take(arg))
}

/// Whether one function asks for more than another.
fn is_narrower(one: &Fit, other: &Fit) -> bool {
    let mut result = false;
    for (left, right) in one.positional.iter().zip(&other.positional) {
        if right.is_narrower_than(left) {
            return false;
        }
        result |= left.is_narrower_than(right);
    }
    result
}

/// Runs a function.
fn run(machine: &mut Machine, fit: &Fit, plan: Plan, context: &Rc<Context>) -> Outcome<Value> {
    let mut call = place(machine, fit, plan, context)?;
    let result = match &fit.candidate.body {
        Some(lambda) => library::system::run_defined(&mut call, lambda)?,
        None => (fit.candidate.definition.body)(&mut call)?,
    };
    machine.limit_memory(&result)?;
    Ok(result)
}

/// Puts the arguments into their places.
fn place<'a>(
    machine: &'a mut Machine,
    fit: &Fit,
    plan: Plan,
    context: &Rc<Context>,
) -> Outcome<Call<'a>> {
    let signature = &fit.candidate.definition.signature;
    let context = machine.context(context);
    let mut named: Vec<_> = plan.named.into_iter().map(Some).collect();
    let mut given = plan.args.into_iter();
    let mut args = Vec::with_capacity(signature.positional.len());
    for parameter in &signature.positional {
        let arg = given.next().unwrap_or(Arg::Absent);
        let by_name = named
            .iter_mut()
            .find(|entry| entry.as_ref().is_some_and(|(name, _)| *name == parameter.name));
        let arg = match (arg, by_name.and_then(Option::take)) {
            (Arg::Absent, Some((_, arg))) => arg,
            (arg, _) => arg,
        };
        args.push(slot(machine, parameter, arg, &context)?);
    }
    let mut rest = Vec::new();
    if let Some(parameter) = &signature.rest {
        for arg in given {
            rest.push(slot(machine, parameter, arg, &context)?);
        }
    }
    let mut others = Vec::new();
    if let Some(parameter) = &signature.named {
        for (name, arg) in named.into_iter().flatten() {
            others.push((name, slot(machine, parameter, arg, &context)?));
        }
    }
    Ok(Call { machine, context, args, rest, named: others })
}

fn slot(
    machine: &mut Machine,
    parameter: &Parameter,
    arg: Arg,
    context: &Rc<Context>,
) -> Outcome<Slot> {
    let value = match arg {
        Arg::Absent => match parameter.default {
            Default::Required | Default::Absent => return Ok(Slot::Absent),
            Default::Null if parameter.is_lazy() => return Ok(Slot::Absent),
            Default::Null => Value::Null,
            Default::Bool(truth) => Value::Bool(truth),
            Default::Int(number) => Value::Int(number),
            Default::Text(text) => Value::text(text),
        },
        Arg::Value(Value::Null) if parameter.is_lazy() => return Ok(Slot::Absent),
        Arg::Expression(expression) => {
            let lambda = |body| Lambda { body: Arg::Expression(body), context: Rc::clone(context) };
            return Ok(match (parameter.kind, expression.as_ref()) {
                (Kind::LazyRule, Expression::Rule(source, destination)) => Slot::Rule(
                    lambda(std::sync::Arc::clone(source)),
                    lambda(std::sync::Arc::clone(destination)),
                ),
                _ => Slot::Lambda(lambda(expression)),
            });
        }
        Arg::Value(value) if parameter.is_lazy() => {
            let lambda = Lambda { body: Arg::Value(value), context: Rc::clone(context) };
            return Ok(Slot::Lambda(lambda));
        }
        Arg::Value(value) => value,
    };
    machine.limit_memory(&value)?;
    match parameter.kind {
        Kind::Iterable | Kind::Unset => {
            limited(machine, value, limits::iterators()).map(Slot::Value)
        }
        _ => Ok(Slot::Value(value)),
    }
}
