//! What is said of the fields that objects of all kinds have.

/// What `apiVersion` is for.
pub(super) const API_VERSION: &str = "APIVersion defines the version of the shape that this \
     object has. The server understands all versions that it serves, and refuses others.";

/// What `kind` is for.
pub(super) const KIND: &str = "Kind says what this object is, in CamelCase. It cannot be changed, \
     and clients may leave it out where the path tells it.";

/// What `metadata` is for.
pub(super) const METADATA: &str = "Standard object's metadata: its name and identity, and what \
     clients say of it.";

/// What the `metadata` of a list is for.
pub(super) const LIST_METADATA: &str = "Standard list metadata: the version of the list, and how \
     to go on when it is cut.";

/// What a field of the metadata of an object is for.
pub(super) fn of_object_metadata(field: &str) -> Option<&'static str> {
    Some(match field {
        "annotations" => {
            "Annotations are texts by name that tools keep with the object. Nothing is selected by \
             them."
        }
        "creationTimestamp" => {
            "CreationTimestamp is a timestamp of the server's clock when the object was created, \
             in UTC. Clients cannot set it."
        }
        "deletionGracePeriodSeconds" => {
            "Seconds that the object has to end gracefully once it is being deleted. Read-only; it \
             may only become shorter."
        }
        "deletionTimestamp" => {
            "DeletionTimestamp is when the object will be gone, or could be but for its \
             finalizers. The server sets it when a client asks for the deletion, which cannot be \
             taken back."
        }
        "finalizers" => {
            "Names of those who have something to do before the object may go. While there is one, \
             a deleted object stays and takes no new ones."
        }
        "generateName" => {
            "GenerateName is the beginning of a name that the server completes, if no name is \
             given."
        }
        "generation" => {
            "A number that grows whenever what is wanted of the object changes. Read-only."
        }
        "labels" => {
            "Labels are texts by name that say what the object is. Objects are selected by them."
        }
        "managedFields" => {
            "ManagedFields says who set which field, for server-side apply. The server keeps it; \
             others seldom need to look."
        }
        "name" => {
            "Name tells the object from all others of its kind in its namespace, or in the \
             cluster. It cannot be changed."
        }
        "namespace" => {
            "Namespace is where the object lives, if its kind lives in namespaces. It cannot be \
             changed."
        }
        "ownerReferences" => {
            "Objects that this one depends on. It is deleted when none of them is left. At most \
             one of them is its controller."
        }
        "resourceVersion" => {
            "ResourceVersion tells this state of the object from all others. Send it back \
             unchanged to write only if nobody else has; watches go on from it."
        }
        "selfLink" => "SelfLink is no longer set.",
        "uid" => {
            "UID tells this object from all others that ever have the same name. The server sets \
             it."
        }
        _ => return None,
    })
}
