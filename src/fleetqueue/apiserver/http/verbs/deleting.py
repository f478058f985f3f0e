"""Delete one object, or all of a collection."""

from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.http.exchange import Answer, Question
from fleetqueue.apiserver.http.forms import Forms
from fleetqueue.apiserver.http.verbs.reading import place
from fleetqueue.apiserver.registry.deletion import DeleteOptions
from fleetqueue.apiserver.registry.list_options import list_options
from fleetqueue.apiserver.registry.reading import Listed, Reading
from fleetqueue.apiserver.registry.served import Served
from fleetqueue.apiserver.registry.store import Store, Write
from fleetqueue.apiserver.storage.interface import Entry

ACCEPTED: Final = 202


class DeletingVerbs:
    def __init__(self, store: Store, reading: Reading, forms: Forms) -> None:
        self.store = store
        self.reading = reading
        self.forms = forms

    async def delete(self, served: Served, question: Question) -> Answer:
        options = _options(question)
        namespace, name = place(served, question)
        write = Write(question.user, dry_run=options.dry_run)
        entry, is_gone = await self.store.delete(served, namespace, name, options, write)
        if is_gone and not served.strategy.answers_deleted:
            return Answer(200, _success(served, entry))
        return Answer(200, self.forms.one(served, entry, question))

    async def delete_collection(self, served: Served, question: Question) -> Answer:
        options = _options(question)
        namespace, _ = place(served, question)
        listed = await self.reading.list(served, namespace, list_options(served, question.query))
        write = Write(question.user, dry_run=options.dry_run)
        deleted: list[Entry] = []
        for entry in listed.entries:
            metadata = entry.object["metadata"]
            after, _ = await self.store.delete(served, metadata.get("namespace", ""), metadata["name"], options, write)
            deleted.append(after)
        return Answer(200, self.forms.many(served, Listed(deleted, self.store.storage.revision), question))


def _options(question: Question) -> DeleteOptions:
    return DeleteOptions.of(question.body if isinstance(question.body, dict) else {}, question.query)


def _success(served: Served, entry: Entry) -> Manifest:
    resource, metadata = served.resource, entry.object["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural, "uid": metadata["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
