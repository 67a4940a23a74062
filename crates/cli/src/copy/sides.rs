//! The flags that say how to reach etcd, once for the source and once for the target.

use std::path::PathBuf;

use crate::etcd::{DEFAULT_PREFIX, EtcdIdentity};

/// How an etcd source is reached.
#[derive(clap::Args)]
pub(crate) struct FromEtcd {
    /// What all keys in the etcd that is read begin with
    #[arg(long, value_name = "PATH", default_value = DEFAULT_PREFIX)]
    pub(crate) from_etcd_prefix: String,

    /// Certificates, in PEM, of the authorities that may vouch for that etcd; needed for https
    #[arg(long, value_name = "FILE")]
    from_etcd_ca: Option<PathBuf>,

    /// Our own certificate, in PEM, where that etcd asks for one
    #[arg(long, value_name = "FILE", requires = "from_etcd_key")]
    from_etcd_cert: Option<PathBuf>,

    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "from_etcd_cert")]
    from_etcd_key: Option<PathBuf>,

    /// Our name, where that etcd asks for a name and a password
    #[arg(long, value_name = "NAME", requires = "from_etcd_password_file")]
    from_etcd_user: Option<String>,

    /// File that holds the password
    #[arg(long, value_name = "FILE", requires = "from_etcd_user")]
    from_etcd_password_file: Option<PathBuf>,
}

/// How an etcd target is reached.
#[derive(clap::Args)]
pub(crate) struct ToEtcd {
    /// What all keys in the etcd that is written begin with
    #[arg(long, value_name = "PATH", default_value = DEFAULT_PREFIX)]
    pub(crate) to_etcd_prefix: String,

    /// Certificates, in PEM, of the authorities that may vouch for that etcd; needed for https
    #[arg(long, value_name = "FILE")]
    to_etcd_ca: Option<PathBuf>,

    /// Our own certificate, in PEM, where that etcd asks for one
    #[arg(long, value_name = "FILE", requires = "to_etcd_key")]
    to_etcd_cert: Option<PathBuf>,

    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "to_etcd_cert")]
    to_etcd_key: Option<PathBuf>,

    /// Our name, where that etcd asks for a name and a password
    #[arg(long, value_name = "NAME", requires = "to_etcd_password_file")]
    to_etcd_user: Option<String>,

    /// File that holds the password
    #[arg(long, value_name = "FILE", requires = "to_etcd_user")]
    to_etcd_password_file: Option<PathBuf>,
}

impl FromEtcd {
    pub(crate) fn identity(&self) -> EtcdIdentity {
        EtcdIdentity {
            etcd_ca: self.from_etcd_ca.clone(),
            etcd_cert: self.from_etcd_cert.clone(),
            etcd_key: self.from_etcd_key.clone(),
            etcd_user: self.from_etcd_user.clone(),
            etcd_password_file: self.from_etcd_password_file.clone(),
        }
    }
}

impl ToEtcd {
    pub(crate) fn identity(&self) -> EtcdIdentity {
        EtcdIdentity {
            etcd_ca: self.to_etcd_ca.clone(),
            etcd_cert: self.to_etcd_cert.clone(),
            etcd_key: self.to_etcd_key.clone(),
            etcd_user: self.to_etcd_user.clone(),
            etcd_password_file: self.to_etcd_password_file.clone(),
        }
    }
}
