//! What can be chosen about an informer before it is made.

use std::{fmt, sync::Arc};

use fastrand::Rng;

use super::{Feed, SharedInformer, short_name};
use crate::{
    CacheWriter, Decoder, DeltaQueue, ListerWatcher, Reflector, ReflectorError, ReflectorSettings,
    SetAside,
};

/// An informer to be. Made by [`SharedInformer::builder`].
pub struct InformerBuilder<T> {
    source: Arc<dyn ListerWatcher>,
    decoder: Decoder<T>,
    name: String,
    queue: DeltaQueue<T>,
    settings: ReflectorSettings,
    on_error: Option<Box<ErrorHook>>,
    on_set_aside: Option<Box<SetAsideHook>>,
    random: Rng,
}

type ErrorHook = dyn Fn(&ReflectorError) + Send + Sync;
type SetAsideHook = dyn Fn(SetAside) + Send + Sync;

impl<T: Send + Sync + 'static> InformerBuilder<T> {
    pub(super) fn new(source: Arc<dyn ListerWatcher>, decoder: Decoder<T>) -> Self {
        let name = short_name::<T>().to_owned();
        Self {
            source,
            decoder,
            queue: DeltaQueue::in_order(),
            settings: ReflectorSettings {
                name: name.clone(),
                ..ReflectorSettings::default()
            },
            name,
            on_error: None,
            on_set_aside: None,
            random: Rng::new(),
        }
    }

    /// What it is called in logs and metrics. Without a choice: the name of the type.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.settings.name.clone_from(&self.name);
        self
    }

    /// How it lists and watches. The name is the informer's.
    #[must_use]
    pub fn reflector(mut self, settings: ReflectorSettings) -> Self {
        let name = self.name.clone();
        self.settings = ReflectorSettings { name, ..settings };
        self
    }

    /// What lies between source and cache. Without a choice: [`DeltaQueue::in_order`].
    #[must_use]
    pub fn queue(mut self, queue: DeltaQueue<T>) -> Self {
        self.queue = queue;
        self
    }

    /// Is called with everything that goes wrong at the source. The informer goes on by itself.
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&ReflectorError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Box::new(hook));
        self
    }

    /// Is called with every object that could not be decoded.
    #[must_use]
    pub fn on_set_aside(mut self, hook: impl Fn(SetAside) + Send + Sync + 'static) -> Self {
        self.on_set_aside = Some(Box::new(hook));
        self
    }

    /// Where the chance in resync periods comes from.
    #[must_use]
    pub fn random(mut self, random: Rng) -> Self {
        self.random = random;
        self
    }

    /// The informer, which has not begun.
    pub fn build(self) -> SharedInformer<T> {
        let (writer, cache) = CacheWriter::new();
        let queue = self.queue;
        let reflector = Reflector::new(self.source, self.decoder, queue.clone(), self.settings);
        let mut reflector = reflector.with_known(cache.clone());
        if let Some(hook) = self.on_error {
            reflector = reflector.on_error(hook);
        }
        if let Some(hook) = self.on_set_aside {
            reflector = reflector.on_set_aside(hook);
        }
        let feed = Feed {
            queue,
            reflector: Some(reflector),
        };
        SharedInformer::assemble(self.name, self.random, feed, (writer, cache))
    }
}

impl<T> fmt::Debug for InformerBuilder<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InformerBuilder")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
