"""What the scripts beside this read from evo's databases."""

import sqlite3


def ask(database, query):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
