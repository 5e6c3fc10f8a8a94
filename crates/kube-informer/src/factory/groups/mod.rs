//! Accessors for all built-in kinds, as in client-go's factory: `factory.apps().v1().deployments()`.
//!
//! They are equivalent to `factory.informer::<Deployment>()`. A kind that only some versions of Kubernetes have is
//! included if the version that k8s-openapi is built for has it.
//!
//! ```no_run
//! # use kube_informer::{Error, SharedInformerFactory};
//! # fn example(factory: &SharedInformerFactory) -> Result<(), Error> {
//! let deployments = factory.apps().v1().deployments().informer();
//! let paused = deployments.index("paused", |d| d.spec.as_ref().and_then(|spec| spec.paused))?;
//! let pods = factory.core().v1().pods().lister();
//! println!("{} pods, {} paused deployments", pods.len(), paused.get(&true).len());
//! # Ok(())
//! # }
//! ```
//!
//! `component_statuses` is included only because client-go has it. It can be listed but not watched, so its informer
//! syncs and then reports an error for each watch.

#[cfg(test)]
mod tests;

use std::fmt;
use std::marker::PhantomData;

use crate::factory::SharedInformerFactory;
use crate::informer::SharedInformer;
use crate::lister::Lister;
use crate::object::Kind;
use crate::object::built_in::{built_in_kinds, kind_type, only_if};

/// A built-in kind of a factory: its informer and its lister.
///
/// client-go: `DeploymentInformer`, `PodInformer` and so on.
///
/// ```no_run
/// # fn example(factory: &kube_informer::SharedInformerFactory) {
/// let deployments = factory.apps().v1().deployments();
/// let (informer, lister) = (deployments.informer(), deployments.lister());
/// # }
/// ```
#[doc(alias("DeploymentInformer", "PodInformer", "GenericInformer"))]
pub struct BuiltInKind<'a, K> {
    factory: &'a SharedInformerFactory,
    kind: PhantomData<fn() -> K>,
}

impl<'a, K> BuiltInKind<'a, K>
where
    K: Kind<DynamicType: Default>,
{
    fn new(factory: &'a SharedInformerFactory) -> BuiltInKind<'a, K> {
        BuiltInKind {
            factory,
            kind: PhantomData,
        }
    }

    /// Returns the factory's informer of this kind, always the same one.
    #[must_use]
    pub fn informer(&self) -> SharedInformer<K> {
        self.factory.informer::<K>()
    }

    /// Returns the lister of the factory's informer of this kind, and creates the informer if necessary.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        self.informer().lister()
    }
}

impl<K> Clone for BuiltInKind<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for BuiltInKind<'_, K> {}

impl<K> fmt::Debug for BuiltInKind<'_, K>
where
    K: Kind<DynamicType: Default>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = K::DynamicType::default();
        write!(f, "BuiltInKind({} {})", K::api_version(&kind), K::kind(&kind))
    }
}

/// Visits built-in kinds.
#[cfg(test)]
pub(crate) trait EachKind {
    /// `accessor` is the call that returned the kind: `apps().v1().deployments()`.
    fn kind<K: Kind<DynamicType: Default>>(&mut self, accessor: &str, kind: BuiltInKind<'_, K>);
}

/// Generates the accessors from the table: a method of the factory and a type for each group, a method and a type for
/// each of its versions, and a method for each kind.
macro_rules! groups {
    ($(
        $group:ident $Group:ident $group_name:literal $([$($group_if:ident)*])? {
            $(
                $version:ident $Version:ident $module:tt $([$($version_if:ident)*])? {
                    $($kind:ident $Kind:ident $kind_name:literal $([$($kind_if:ident)*])?;)*
                }
            )*
        }
    )*) => {
        $(
            only_if! { [$($($group_if)*)?]
                impl SharedInformerFactory {
                    #[doc = concat!("The built-in kinds of the group `", $group_name, "`.")]
                    #[must_use]
                    pub fn $group(&self) -> $Group<'_> {
                        $Group { factory: self }
                    }
                }

                #[doc = concat!("The versions of the group `", $group_name, "`.")]
                #[derive(Debug, Clone, Copy)]
                pub struct $Group<'a> {
                    factory: &'a SharedInformerFactory,
                }

                $(
                    only_if! { [$($($version_if)*)?]
                        impl<'a> $Group<'a> {
                            #[doc = concat!("The kinds of version ", stringify!($version), ".")]
                            #[must_use]
                            pub fn $version(&self) -> $Version<'a> {
                                $Version { factory: self.factory }
                            }
                        }

                        #[doc = concat!(
                            "The kinds of the group `", $group_name, "`, version ", stringify!($version), "."
                        )]
                        #[derive(Debug, Clone, Copy)]
                        pub struct $Version<'a> {
                            factory: &'a SharedInformerFactory,
                        }

                        impl<'a> $Version<'a> {
                            $(
                                only_if! { [$($($kind_if)*)?]
                                    #[doc = concat!(
                                        "`", $kind_name, "` of the group `", $group_name, "`, version ",
                                        stringify!($version), "."
                                    )]
                                    #[must_use]
                                    pub fn $kind(&self) -> BuiltInKind<'a, kind_type!($module $Kind)> {
                                        BuiltInKind::new(self.factory)
                                    }
                                }
                            )*
                        }
                    }
                )*
            }
        )*

        /// Visits every built-in kind by its accessor.
        #[cfg(test)]
        pub(crate) fn each_kind(factory: &SharedInformerFactory, visitor: &mut impl EachKind) {
            $(only_if! { [$($($group_if)*)?]
                $(only_if! { [$($($version_if)*)?]
                    $(only_if! { [$($($kind_if)*)?]
                        visitor.kind(
                            concat!(
                                stringify!($group), "().", stringify!($version), "().", stringify!($kind), "()"
                            ),
                            factory.$group().$version().$kind(),
                        );
                    })*
                })*
            })*
        }
    };
}

built_in_kinds!(groups);
