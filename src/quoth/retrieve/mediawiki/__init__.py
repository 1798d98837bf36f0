"""Wikipedia, and any other MediaWiki, as a ``Retriever``."""

from quoth.retrieve.mediawiki.address import Mode, WikiAddress
from quoth.retrieve.mediawiki.cache import Cache
from quoth.retrieve.mediawiki.client import Client, Patience
from quoth.retrieve.mediawiki.retriever import MediaWiki

__all__ = ["Cache", "Client", "MediaWiki", "Mode", "Patience", "WikiAddress"]
