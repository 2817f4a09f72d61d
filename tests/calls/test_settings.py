"""Options hold inside their block, in their thread."""

import threading

import dslc
import pytest
from dslc.calls.settings import Settings, current_settings


def test_options_nest_and_end():
    assert current_settings() == Settings()
    with dslc.options(shuffle=3, check=False) as outer:
        assert current_settings() is outer
        with dslc.options(check=True):
            assert current_settings() == Settings(shuffle=3, check=True)
        assert current_settings() is outer
    assert current_settings() == Settings()


def test_options_end_with_an_error():
    with pytest.raises(ZeroDivisionError), dslc.options(shuffle=1):
        raise ZeroDivisionError
    assert current_settings() == Settings()


def test_options_are_of_one_thread():
    seen = []
    with dslc.options(shuffle=3):
        thread = threading.Thread(target=lambda: seen.append(current_settings()))
        thread.start()
        thread.join()
    assert seen == [Settings()]


def test_an_unknown_option_is_an_error():
    with pytest.raises(TypeError, match="shufle"), dslc.options(shufle=1):
        pass
