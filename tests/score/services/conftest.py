"""A service of this process on a real socket, for the tests of one folder."""

import pytest

from servers import Service


@pytest.fixture
def serve():
    started = []

    def start(answer):
        started.append(Service(answer))
        return started[-1]

    yield start
    for service in started:
        service.close()
