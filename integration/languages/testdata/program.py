import sys
import types

import django
from django.conf import settings

engine, host, user, name, code = sys.argv[1:]
if engine == "mysql":
    import pymysql

    pymysql.install_as_MySQLdb()
posts = types.ModuleType("posts")
posts.__path__ = ["."]
sys.modules["posts"] = posts
backend = {"postgres": "postgresql", "mysql": "mysql"}[engine]
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends." + backend, "HOST": host, "USER": user, "NAME": name}},
    INSTALLED_APPS=["posts"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()
from django.db import connection, models

names = {"__name__": "posts.models", "connection": connection, "models": models}
for id in 1, 1, 99:
    names["id"] = id
    exec(open(code).read(), names)
    print(names["found"])
for post in names["top"]:
    print(post.id, post.title, post.views)
