//! What a token says about whom.

use serde::{Deserialize, Serialize};

/// What a token says, in the order in which it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Whom it is meant for.
    #[serde(rename = "aud")]
    pub audiences: Vec<String>,
    /// When it ends, in seconds since 1970.
    #[serde(rename = "exp")]
    pub expires: i64,
    /// When it was made.
    #[serde(rename = "iat")]
    pub issued: i64,
    /// Who made it.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// Its own name.
    #[serde(rename = "jti")]
    pub id: String,
    /// Whose it is.
    #[serde(rename = "kubernetes.io")]
    pub account: Account,
    /// When it begins.
    #[serde(rename = "nbf")]
    pub begins: i64,
    /// The name of the user that it stands for.
    #[serde(rename = "sub")]
    pub subject: String,
}

/// The service account that a token stands for, and what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<Named>,
    serviceaccount: Named,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnafter: Option<i64>,
}

/// An object by name and identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its uid; absent for a node that is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// An object whose end is also the token's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundObject {
    /// A pod, and the node it runs on.
    Pod {
        /// The pod.
        pod: Named,
        /// Its node, if it has one.
        node: Option<Named>,
    },
    /// A secret.
    Secret(Named),
    /// A node.
    Node(Named),
}

impl Account {
    /// A service account of a namespace, bound to an object or to nothing else.
    pub fn new(namespace: &str, serviceaccount: Named, bound: Option<BoundObject>) -> Self {
        let (pod, secret, node) = match bound {
            None => (None, None, None),
            Some(BoundObject::Pod { pod, node }) => (Some(pod), None, node),
            Some(BoundObject::Secret(secret)) => (None, Some(secret), None),
            Some(BoundObject::Node(node)) => (None, None, Some(node)),
        };
        Self {
            namespace: namespace.to_owned(),
            node,
            pod,
            secret,
            serviceaccount,
            warnafter: None,
        }
    }

    /// The same, for a token that lives longer than was asked for and is complained about after
    /// this time.
    pub fn warning_after(self, seconds: i64) -> Self {
        Self {
            warnafter: Some(seconds),
            ..self
        }
    }

    /// The namespace of the service account.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The service account.
    pub fn service_account(&self) -> &Named {
        &self.serviceaccount
    }

    /// What the token is bound to beside its account.
    pub fn bound(&self) -> Option<BoundObject> {
        match (&self.pod, &self.secret, &self.node) {
            (Some(pod), _, node) => Some(BoundObject::Pod {
                pod: pod.clone(),
                node: node.clone(),
            }),
            (None, Some(secret), _) => Some(BoundObject::Secret(secret.clone())),
            (None, None, Some(node)) => Some(BoundObject::Node(node.clone())),
            (None, None, None) => None,
        }
    }
}
