//! A server that somebody else has started, described on the command line.

use std::{path::PathBuf, str::FromStr};

use anyhow::{Context, Error, Result, bail};

use super::{
    endpoint::Endpoint,
    tls::{Identity, Trust},
};
use crate::resources::Resources;

/// `url=URL[,token-file=FILE][,ca=FILE|,insecure][,cert=FILE,key=FILE][,pids=1+2]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    url: String,
    token_file: Option<PathBuf>,
    trust: Trust,
    identity: Option<Identity>,
    processes: Vec<u32>,
}

impl FromStr for Given {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut given = Self {
            url: String::new(),
            token_file: None,
            trust: Trust::Anyone,
            identity: None,
            processes: Vec::new(),
        };
        let (mut trust, mut certificate, mut key) = (None, None, None);
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("url", url)) => url.clone_into(&mut given.url),
                Some(("token-file", file)) => given.token_file = Some(file.into()),
                Some(("ca", file)) => trust = Some(Trust::Authority(file.into())),
                Some(("cert", file)) => certificate = Some(PathBuf::from(file)),
                Some(("key", file)) => key = Some(PathBuf::from(file)),
                Some(("pids", pids)) => given.processes = processes(pids)?,
                None if part == "insecure" => trust = Some(Trust::Anyone),
                Some(_) | None => bail!("`{part}` says nothing about a server"),
            }
        }
        if let (Some(certificate), Some(key)) = (certificate, key) {
            given.identity = Some(Identity { certificate, key });
        }
        given.trust = match trust {
            Some(trust) => trust,
            None if given.url.starts_with("https") => bail!("https needs ca=FILE or insecure"),
            None => Trust::Anyone,
        };
        Ok(given)
    }
}

fn processes(text: &str) -> Result<Vec<u32>> {
    let numbers = text.split('+').map(str::parse);
    let numbers: Result<Vec<u32>, _> = numbers.collect();
    numbers.with_context(|| format!("`{text}` are no process ids"))
}

impl Given {
    /// How to reach it.
    pub(crate) fn endpoint(&self) -> Result<Endpoint> {
        let endpoint = Endpoint::new(&self.url, &self.trust, self.identity.as_ref())?;
        match &self.token_file {
            Some(file) => {
                let token = std::fs::read_to_string(file);
                let token = token.with_context(|| format!("cannot read {}", file.display()))?;
                Ok(endpoint.with_token(&token))
            }
            None => Ok(endpoint),
        }
    }

    /// Its processes, as far as they are known.
    pub(crate) fn resources(&self) -> Resources {
        Resources::of(self.processes.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_described_in_one_argument() {
        let given: Given = "url=https://host:6443,ca=ca.pem,cert=me.pem,key=me.key,pids=7+8"
            .parse()
            .unwrap();
        assert_eq!(given.trust, Trust::Authority("ca.pem".into()));
        assert_eq!(given.processes, [7, 8]);
        assert!(given.identity.is_some() && given.token_file.is_none());
    }

    #[test]
    fn whom_to_trust_must_be_said() {
        assert!(Given::from_str("url=https://host").is_err());
        assert!(Given::from_str("url=https://host,insecure").is_ok());
        assert!(Given::from_str("url=http://host").is_ok());
        assert!(Given::from_str("url=http://host,colour=red").is_err());
        assert!(Given::from_str("url=http://host,pids=x").is_err());
    }
}
