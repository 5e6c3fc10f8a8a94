//! Every built-in kind by name, as client-go's factory has it: `factory.apps().v1().deployments()`.
//!
//! It is the same as `factory.informer::<Deployment>()`, for those who would rather see than know what there is. Kinds
//! that not every version of Kubernetes has are there if the version that k8s-openapi is built for has them.
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
//! One kind is here only because client-go has it: `component_statuses` can be listed but not watched, so that its
//! informer syncs and then complains of each watch that is refused.

#[cfg(test)]
mod tests;

use std::fmt;
use std::marker::PhantomData;

use crate::factory::SharedInformerFactory;
use crate::informer::SharedInformer;
use crate::lister::Lister;
use crate::object::Kind;
use crate::object::built_in::{built_in_kinds, kind_type, only_if};

/// A built-in kind in a factory: its informer and its lister.
///
/// It stands for what client-go calls `DeploymentInformer`, `PodInformer` and so on.
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

    /// The factory's informer of this kind, the same one each time.
    #[must_use]
    pub fn informer(&self) -> SharedInformer<K> {
        self.factory.informer::<K>()
    }

    /// Reads the cache of the factory's informer, which is there from now on if it was not before.
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

/// Something to do with each built-in kind.
#[cfg(test)]
pub(crate) trait EachKind {
    /// `way` is how the kind was reached: `apps().v1().deployments()`.
    fn kind<K: Kind<DynamicType: Default>>(&mut self, way: &str, kind: BuiltInKind<'_, K>);
}

/// Makes the accessors from the table: a method of the factory and a type for each group, a method and a type for each
/// of its versions, and a method for each kind.
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
