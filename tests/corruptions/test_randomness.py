"""The random bits are those of SplitMix64, and what is looked up with them has the distribution that it should."""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robustlib.corruptions import corrupt, find_corruption
from robustlib.corruptions.bits import fill, word
from robustlib.corruptions.stream import Stream
from robustlib.corruptions.tables import normal_table, photon_table

MASK = 2**64 - 1
ALPHA = 1e-4  # of each test of a distribution below; their seeds are fixed, so they pass or fail for good
PHOTONS = [int(parameters["photons"]) for parameters in find_corruption("imagenet_c/shot_noise").parameters]


def splitmix64(seed: int, count: int) -> list[int]:
    """Return outputs as the authors' reference implementation steps to them, in exact integers."""
    outputs = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        outputs.append(z ^ (z >> 31))
    return outputs


def words(key: int, count: int, start: int = 0) -> npt.NDArray[np.uint64]:
    filled = np.empty(count, np.uint64)
    fill(filled, np.uint64(key), start)
    return filled


def test_published_outputs_for_the_seed_1234567() -> None:
    """Vigna's C program splitmix64.c prints these (Rosetta Code, "Pseudo-random numbers/Splitmix64")."""
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert splitmix64(1234567, 5) == published
    assert words(1234567, 5).tolist() == published


@given(key=st.integers(0, MASK), start=st.integers(0, 300))
def test_every_word_is_that_of_splitmix64(key: int, start: int) -> None:
    expected = splitmix64(key, start + 5)[start:]
    assert words(key, 5, start).tolist() == expected
    assert int(word(np.uint64(key), start + 4)) == expected[4]


@pytest.mark.parametrize("key", [0, 1, 2**63, MASK])
def test_all_bits_are_uniform_and_independent(key: int) -> None:
    drawn = words(key, 2**16)
    sixteenths = drawn.view(np.uint16)
    assert stats.chisquare(np.bincount(sixteenths >> 4, minlength=4096)).pvalue > ALPHA
    assert stats.chisquare(np.bincount(sixteenths & 4095, minlength=4096)).pvalue > ALPHA
    pairs = (sixteenths[:-1] >> 10).astype(int) * 64 + (sixteenths[1:] >> 10)
    assert stats.chisquare(np.bincount(pairs[::2], minlength=4096)).pvalue > ALPHA
    bits = np.unpackbits(drawn.view(np.uint8)).reshape(-1, 64)
    ones = bits.sum(axis=0, dtype=int)
    limit = stats.norm.isf(ALPHA / 2 / 64) * np.sqrt(len(bits)) / 2
    assert np.abs(ones - len(bits) / 2).max() < limit


def test_keys_next_to_each_other_are_unrelated() -> None:
    flipped = [int(first ^ second).bit_count() for first, second in zip(words(8, 4096), words(9, 4096), strict=True)]
    assert abs(np.mean(flipped) - 32) < stats.norm.isf(ALPHA / 2) * 4 / np.sqrt(4096)


def test_draws_of_a_stream_are_uniform_and_its_own() -> None:
    keys = {int(Stream(*identity).key()) for identity in [(0, "fog", 1), (1, "fog", 1), (0, "fog", 2), (0, "snow", 1)]}
    assert len(keys) == 4
    stream = Stream("test")
    assert stats.chisquare(list(Counter(stream.below(6) for _ in range(6000)).values())).pvalue > ALPHA
    assert stats.kstest([stream.uniform(-3, 5) for _ in range(4000)], stats.uniform(-3, 8).cdf).pvalue > ALPHA


def test_the_normal_table_is_normal_to_4_sigma() -> None:
    unit = 2**12
    table = normal_table(unit) / unit
    np.testing.assert_array_equal(table, -table[::-1])
    assert table.std() == pytest.approx(1, abs=2e-4)
    assert (table**4).mean() == pytest.approx(3, abs=2e-3)
    for sigma in (0.5, 1, 2, 3, 3.5, 4):
        expected = 2 * stats.norm.sf(sigma + 0.5 / unit)  # what is at most half a unit beyond is rounded to sigma
        assert (np.abs(table) > sigma).mean() == pytest.approx(expected, abs=2 / 2**16), sigma


@pytest.mark.parametrize("level", range(5))
def test_gaussian_noise_has_the_distribution_of_rounded_normal_numbers(level: int) -> None:
    sigma = 255 * float(find_corruption("imagenet_c/gaussian_noise").parameters[level]["sigma"])
    noise = corrupt(np.full((512, 512, 3), 128, np.uint8), "imagenet_c/gaussian_noise", level + 1).astype(int) - 128
    edges = np.concatenate(([-np.inf], np.arange(-127, 127) + 0.5, [np.inf]))
    expected = np.diff(stats.norm.cdf(edges / sigma)) * noise.size
    counts = np.bincount(noise.reshape(-1).clip(-127, 127) + 127, minlength=255)
    enough = expected > 20
    observed = np.append(counts[enough], counts[~enough].sum())
    predicted = np.append(expected[enough], expected[~enough].sum())
    keep = predicted > 0
    assert stats.chisquare(observed[keep], predicted[keep], sum_check=False).pvalue > ALPHA


def test_noise_reaches_4_sigma_as_often_as_it_should() -> None:
    """Severity 1 has a sigma of 20.4 levels, so that nothing is clipped; 82 levels and more began as 81.5 and more."""
    noise = corrupt(np.full((1024, 1024, 3), 128, np.uint8), "imagenet_c/gaussian_noise", 1).reshape(-1) - 128.0
    sigma = 0.08 * 255
    beyond = int((np.abs(noise) >= 82).sum())
    low, high = stats.binom.interval(1 - ALPHA, noise.size, 2 * stats.norm.sf(81.5 / sigma))
    assert low <= beyond <= high
    assert noise.std() == pytest.approx(np.hypot(sigma, np.sqrt(1 / 12)), rel=0.002)
    assert abs(stats.skew(noise)) < stats.norm.isf(ALPHA / 2) * np.sqrt(6 / noise.size)
    assert stats.kurtosis(noise) == pytest.approx(0, abs=0.015)


@pytest.mark.parametrize("photons", PHOTONS)
def test_photons_are_counted_by_poisson(photons: int) -> None:
    """The exact distribution of each row, from its shares, lies within 1e-4 of Poisson's in total variation."""
    table = photon_table(photons)
    columns = table.shape[1]
    levels = np.rint(255 * np.arange(photons + 1) / photons).astype(int)
    for intensity in range(256):
        share, first, second = table[intensity] >> 16, table[intensity] >> 8 & 255, table[intensity] & 255
        mass = np.zeros(256)
        np.add.at(mass, first, share / 2**16 / columns)
        np.add.at(mass, second, (2**16 - share) / 2**16 / columns)
        exact = np.zeros(256)
        poisson = stats.poisson(photons * intensity / 255)
        exact[levels[:-1]] = poisson.pmf(np.arange(photons))
        exact[levels[-1]] = poisson.sf(photons - 1)
        assert np.abs(mass - exact).sum() / 2 < 1e-4, intensity


@pytest.mark.parametrize("photons", PHOTONS)
def test_shot_noise_follows_the_table(photons: int) -> None:
    severity = PHOTONS.index(photons) + 1
    for intensity in (1, 90, 200):
        noisy = corrupt(np.full((128, 256, 3), intensity, np.uint8), "imagenet_c/shot_noise", severity)
        mean = photons * intensity / 255
        counts = np.rint(noisy.reshape(-1) * (photons / 255)).astype(int)
        observed = np.bincount(counts, minlength=photons + 1)
        expected = np.append(stats.poisson.pmf(range(photons), mean), stats.poisson.sf(photons - 1, mean)) * counts.size
        enough = expected > 10
        pooled = [np.append(values[enough], values[~enough].sum()) for values in (observed, expected)]
        if pooled[1][-1] < 1:
            pooled = [values[:-1] for values in pooled]
        assert stats.chisquare(*pooled, sum_check=False).pvalue > ALPHA


@pytest.mark.parametrize("level", range(5))
def test_impulses_take_their_share_half_black_half_white(level: int) -> None:
    amount = float(find_corruption("imagenet_c/impulse_noise").parameters[level]["amount"])
    noisy = corrupt(np.full((512, 512, 3), 77, np.uint8), "imagenet_c/impulse_noise", level + 1)
    counts = [int((noisy == value).sum()) for value in (0, 255, 77)]
    assert sum(counts) == noisy.size
    expected = np.array([amount / 2, amount / 2, 1 - amount]) * noisy.size
    assert stats.chisquare(counts, expected).pvalue > ALPHA


@pytest.mark.parametrize("level", range(5))
def test_added_photons_saturate_what_any_of_them_hits(level: int) -> None:
    mean = float(find_corruption("vqa_bench/shot_noise").parameters[level]["mean"])
    noisy = corrupt(np.full((512, 512, 3), 77, np.uint8), "vqa_bench/shot_noise", level + 1)
    assert set(np.unique(noisy)) == {77, 255}
    assert stats.binomtest(int((noisy == 77).sum()), noisy.size, np.exp(-mean)).pvalue > ALPHA


@pytest.mark.parametrize("level", range(5))
def test_speckle_grows_with_the_value(level: int) -> None:
    sigma = float(find_corruption("imagenet_c/speckle_noise").parameters[level]["sigma"])
    for value in (0, 20, 60):  # dark enough that hardly anything is clipped above, at 4.2 sigma
        noisy = corrupt(np.full((256, 256, 3), value, np.uint8), "imagenet_c/speckle_noise", level + 1).astype(int)
        exact = stats.norm(value, max(sigma * value, 1e-9))
        edges = np.arange(-1, 255) + 0.5
        cumulative = np.append(exact.cdf(edges[1:]), 1)
        observed = np.cumsum(np.bincount(noisy.reshape(-1), minlength=256))[: cumulative.size] / noisy.size
        assert np.abs(observed - cumulative).max() < 2.3 / np.sqrt(noisy.size)  # Kolmogorov, at 1e-4
