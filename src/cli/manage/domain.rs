//! The domain of stacks' users, made once in a cloud by one of its administrators. Again, it finds
//! what is there.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::client::{Client, ClientError};
use crate::cli::data::with_causes;
use crate::cli::login;

/// What is made, and by whom: `--os-cloud` and the variables OS_… say that as for the openstack
/// client.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The domain's name; HEAT_DOMAIN comes before it
    #[arg(long, value_name = "NAME", default_value = "heat")]
    stack_user_domain_name: String,
    /// The name of its administrator; HEAT_DOMAIN_ADMIN comes before it
    #[arg(long, value_name = "NAME", default_value = "heat_domain_admin")]
    stack_domain_admin: String,
    /// His password, which other users of this machine can see; better in HEAT_DOMAIN_PASSWORD,
    /// which comes before it
    #[arg(long, value_name = "PASSWORD")]
    stack_domain_admin_password: Option<String>,
    /// The cloud of clouds.yaml to sign in to
    #[arg(long, value_name = "NAME")]
    os_cloud: Option<String>,
    /// Take any certificate for Keystone's
    #[arg(long)]
    insecure: bool,
    /// The authorities whose certificates are taken; OS_CACERT comes before it
    #[arg(long, value_name = "FILE")]
    os_cacert: Option<PathBuf>,
    /// A certificate to show to Keystone; OS_CERT comes before it
    #[arg(long, value_name = "FILE")]
    os_cert: Option<PathBuf>,
    /// Its key; OS_KEY comes before it
    #[arg(long, value_name = "FILE")]
    os_key: Option<PathBuf>,
}

impl Arguments {
    /// With what the environment says, which comes first, as with heat-keystone-setup-domain.
    fn within(&self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut all = self.clone();
        for (name, value) in [
            ("HEAT_DOMAIN", &mut all.stack_user_domain_name),
            ("HEAT_DOMAIN_ADMIN", &mut all.stack_domain_admin),
        ] {
            if let Some(given) = variable(name) {
                *value = given;
            }
        }
        let password = variable("HEAT_DOMAIN_PASSWORD");
        all.stack_domain_admin_password = password.or(all.stack_domain_admin_password);
        all
    }

    fn login(&self) -> Result<login::LoginFound, login::LoginError> {
        let mut login = login::find(self.os_cloud.as_deref())?;
        login.insecure |= self.insecure;
        for (found, given) in [
            (&mut login.ca_file, &self.os_cacert),
            (&mut login.cert_file, &self.os_cert),
            (&mut login.key_file, &self.os_key),
        ] {
            *found = found.take().or_else(|| given.clone());
        }
        Ok(login)
    }
}

pub(super) async fn set_up(given: &Arguments) -> Result<(), String> {
    let given = &given.within(login::variable);
    let password = given.stack_domain_admin_password.as_ref().ok_or_else(|| {
        "HEAT_DOMAIN_PASSWORD or --stack-domain-admin-password has to say the password".to_owned()
    })?;
    let login = given.login().map_err(|error| with_causes(&error))?;
    let domain = make(given, &login, password).await.map_err(|error| with_causes(&error))?;
    println!("# For [DEFAULT] of heat.conf, with the password that was given:");
    println!("stack_user_domain_id = {domain}");
    println!("stack_domain_admin = {}", given.stack_domain_admin);
    println!("stack_domain_admin_password =");
    Ok(())
}

/// The id of the domain.
async fn make(
    given: &Arguments,
    login: &login::LoginFound,
    password: &str,
) -> Result<String, ClientError> {
    let keystone = Client::at_keystone(login).await?;
    let domain = json!({ "domain": {
        "name": given.stack_user_domain_name,
        "description": "Users and projects of stacks",
    } });
    let query = [("name", given.stack_user_domain_name.as_str())];
    let domain = made_or_found(&keystone, ("domain", "domains"), &domain, &query).await?;
    let user = json!({ "user": {
        "name": given.stack_domain_admin,
        "password": password,
        "domain_id": domain,
        "description": "Administrator of the users of stacks",
    } });
    let query = [("domain_id", domain.as_str()), ("name", given.stack_domain_admin.as_str())];
    let user = made_or_found(&keystone, ("user", "users"), &user, &query).await?;
    let role = found(&keystone, "roles", &[("name", "admin")]).await?;
    let grant = format!("/domains/{domain}/users/{user}/roles/{role}");
    keystone.put(&grant, &json!({})).await?;
    Ok(domain)
}

/// The id of what is made now, or has that name already.
async fn made_or_found(
    keystone: &Client,
    (one, many): (&str, &str),
    body: &Value,
    query: &[(&str, &str)],
) -> Result<String, ClientError> {
    match keystone.post(&format!("/{many}"), body).await {
        Ok(made) => id_of(&made[one], many),
        Err(ClientError::Refused { status: 409, .. }) => {
            eprintln!("{one} {} is there already", body[one]["name"].as_str().unwrap_or_default());
            found(keystone, many, query).await
        }
        Err(error) => Err(error),
    }
}

async fn found(
    keystone: &Client,
    many: &str,
    query: &[(&str, &str)],
) -> Result<String, ClientError> {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let listed = keystone.get(&format!("/{many}?{query}")).await?;
    id_of(&listed[many][0], many)
}

fn id_of(object: &Value, many: &str) -> Result<String, ClientError> {
    let id = object["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| ClientError::Shape { url: format!("/{many}") })
}
