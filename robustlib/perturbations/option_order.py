"""Family option_order: the same options in another order."""

from collections.abc import Iterator, Sequence

import numpy as np

from robustlib.data.question import Question
from robustlib.perturbations.variant import Variant, vary, with_options
from robustlib.seeding import generator

Order = tuple[int, ...]


def reorder_options(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Show the options of a question in every other order of `option_orders`."""
    for question in questions:
        random = generator("option_order", seed, question.dataset, question.id)
        for name, order in option_orders(len(question.options), random).items():
            yield vary(question, "option_order", name, with_options(question, order), order=order)


def option_orders(count: int, random: np.random.Generator) -> dict[str, Order]:
    """Return the orders of so many options, by name: every cyclic shift, the reversal and one random permutation.

    An order that equals an earlier one or changes nothing is left out, so two options have one other order.

    Returns:
        For each order, the source index of the option shown at each place.
    """
    identity = tuple(range(count))
    candidates = {f"shift{shift}": identity[shift:] + identity[:shift] for shift in range(1, count)}
    candidates["reversed"] = identity[::-1]
    candidates["perm"] = tuple(random.permutation(count).tolist())
    orders: dict[str, Order] = {}
    for name, order in candidates.items():
        if order != identity and order not in orders.values():
            orders[name] = order
    return orders
