//! Looking for what a call may have made whose answer never came: by the name that is ours, by the
//! token in another field, or by all that was asked for.

use serde_json::Value;

use super::Declared;
use super::special::Purpose;
use crate::openstack::{Method, Session};
use crate::resource_types::driver::{DriverError, Subject};
use crate::resource_types::python;

impl Declared {
    /// The object that an earlier creation of this resource made.
    pub(crate) async fn find(
        &self,
        cloud: &Session,
        subject: &Subject,
    ) -> Result<Option<Value>, DriverError> {
        let declaration = self.declaration();
        let path = match (&declaration.find, &declaration.create) {
            (Some(find), _) => find.parts().map(|(_, path)| path),
            (None, Some(create)) => create.post.as_deref(),
            (None, None) => None,
        };
        let Some(path) = path else { return Ok(None) };

        let marks = self.marks(subject);
        let mut request = declaration.request(Method::Get, path, subject, None);
        let filtered = !declaration.find.as_ref().is_some_and(|find| find.unfiltered);
        for (field, value) in &marks {
            if filtered && value.is_string() {
                request = request.query(field.clone(), python::text(value));
            }
        }
        for (name, value) in declaration.find.iter().flat_map(|find| &find.query) {
            request = request.query(name.clone(), value.clone());
        }
        let mut body = cloud.send(request).await?.json()?;
        let list = match (&declaration.list, &declaration.wrap) {
            (Some(list), _) => list.clone(),
            (None, Some(wrap)) => format!("{wrap}s"),
            (None, None) => return Ok(None),
        };
        let Some(Value::Array(objects)) = body.get_mut(&list).map(Value::take) else {
            return Ok(None);
        };
        let is_ours = |object: &Value| {
            // Some services wrap each object of a list once more.
            let id = declaration.id_of(object);
            let is_free = id.is_some_and(|id| {
                !subject.taken.contains(&id) && subject.physical_id.as_ref() != Some(&id)
            });
            is_free && marks.iter().all(|(field, value)| object.get(field) == Some(value))
        };
        Ok(objects
            .into_iter()
            .map(|object| match declaration.wrap.as_deref().and_then(|wrap| object.get(wrap)) {
                Some(inner) if inner.is_object() => inner.clone(),
                _ => object,
            })
            .find(is_ours))
    }

    /// The fields by which the object is known to be ours: the token alone, or, where there is no
    /// room for one, the texts that were asked for.
    fn marks(&self, subject: &Subject) -> Vec<(String, Value)> {
        let declaration = self.declaration();
        let properties = self.properties(&subject.properties);
        let body = self.body(Purpose::Create, subject, properties);
        let fields = declaration.unwrapped(body);
        let named =
            declaration.name.as_ref().map(|name| declaration.body.fields.get(name).unwrap_or(name));
        let token: Value = subject.physical_name.as_str().into();
        let signed = named.into_iter().chain(&declaration.token);
        for field in signed {
            if fields.get(field) == Some(&token) {
                return vec![(field.clone(), token)];
            }
        }
        let natural = named.into_iter().chain(&declaration.token);
        natural.filter_map(|field| Some((field.clone(), fields.get(field)?.clone()))).collect()
    }
}
