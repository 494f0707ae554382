from __future__ import annotations

import pytest
from fake_server import FakeLlamaServer
from pytest_httpserver import HTTPServer


@pytest.fixture
def fake(httpserver: HTTPServer) -> FakeLlamaServer:
    return FakeLlamaServer(httpserver)
