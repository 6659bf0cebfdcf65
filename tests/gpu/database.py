"""Queries of evo's databases, for the scripts of this folder."""

import sqlite3


def ask(database, query):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
