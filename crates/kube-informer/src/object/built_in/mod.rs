//! The built-in kinds of Kubernetes.

mod table;

pub(crate) use self::table::built_in_kinds;

/// A type of k8s-openapi, by its module and name.
macro_rules! kind_type {
    (($($module:ident)::*) $Kind:ident) => { k8s_openapi::$($module)::*::$Kind };
}

/// Compiles code only if all of these macros of k8s-openapi let it through.
macro_rules! only_if {
    ([] $($code:tt)*) => { $($code)* };
    ([$first:ident $($more:ident)*] $($code:tt)*) => {
        k8s_openapi::$first! { only_if! { [$($more)*] $($code)* } }
    };
}

pub(crate) use {kind_type, only_if};

macro_rules! type_ids {
    ($(
        $group:ident $Group:ident $group_name:literal $([$($group_if:ident)*])? {
            $(
                $version:ident $Version:ident $module:tt $([$($version_if:ident)*])? {
                    $($kind:ident $Kind:ident $kind_name:literal $([$($kind_if:ident)*])?;)*
                }
            )*
        }
    )*) => {
        /// Returns whether a type is k8s-openapi's type of a built-in kind in a stable version.
        pub(crate) fn is_stable_built_in<K: 'static>() -> bool {
            let this = std::any::TypeId::of::<K>();
            let mut found = false;
            $(only_if! { [$($($group_if)*)?]
                $(only_if! { [$($($version_if)*)?]
                    let version = stringify!($version);
                    if !version.contains("alpha") && !version.contains("beta") {
                        $(only_if! { [$($($kind_if)*)?]
                            found |= this == std::any::TypeId::of::<kind_type!($module $Kind)>();
                        })*
                    }
                })*
            })*
            found
        }
    };
}

built_in_kinds!(type_ids);
