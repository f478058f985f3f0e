"""Delete one object, or all of a collection."""

from contextlib import suppress

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.exchange import Answer, Question
from fleetqueue.embedded.apiserver.http.forms import Forms
from fleetqueue.embedded.apiserver.http.verbs.reading import place
from fleetqueue.embedded.apiserver.registry.delete_options import DeleteOptions, delete_options
from fleetqueue.embedded.apiserver.registry.list_options import list_options
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.store import Store
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage.interface import Entry


class DeletingVerbs:
    def __init__(self, store: Store, reading: Reading, forms: Forms) -> None:
        self.store = store
        self.reading = reading
        self.forms = forms

    async def delete(self, served: Served, question: Question) -> Answer:
        options = delete_options(question.body, question.query)
        namespace, name = place(served, question)
        write = Write(question.user, dry_run=options.dry_run, warnings=_warnings(served, question, options))
        entry, is_gone = await self.store.delete(served, namespace, name, options, write)
        if is_gone and not served.strategy.answers_deleted:
            return Answer(200, _success(served, entry), write.warnings)
        return Answer(200, self.forms.one(served, entry, question), write.warnings)

    async def delete_collection(self, served: Served, question: Question) -> Answer:
        """Delete all that is selected; answers them as they were before."""
        options = delete_options(question.body, question.query)
        namespace, _ = place(served, question)
        listed = await self.reading.list(served, namespace, list_options(served, question.query))
        write = Write(question.user, dry_run=options.dry_run, warnings=_warnings(served, question, options))
        for entry in listed.entries:
            metadata = entry.object["metadata"]
            with suppress(errors.NotFound):  # somebody was faster
                await self.store.delete(served, metadata.get("namespace", ""), metadata["name"], options, write)
        return Answer(200, self.forms.many(served, listed, question), write.warnings)


def _warnings(served: Served, question: Question, options: DeleteOptions) -> list[str]:
    if served.deprecation:
        question.warnings.append(served.deprecation)
    if served.strategy.deletion_warning and not options.says_what_follows:
        question.warnings.append(served.strategy.deletion_warning)
    return question.warnings


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
