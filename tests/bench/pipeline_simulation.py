#!/usr/bin/env python3
"""How many candidates a minute does a screened search evaluate on N GPUs, and what holds it up? A discrete-event model.

    tests/bench/pipeline_simulation.py [--gpus 1,2,4,8] [--cores-per-gpu 16] [--workload mission] [--evals 200] [--runs 20]
    tests/bench/pipeline_simulation.py --gpus 8,16,32,64,8000 --evals 20000 --runs 1

What it models: the parent asks for proposals whose models were begun some measurements before (engine/search,
surrogate_screening.h) and waits for all but the slowest few of them; cores model in the order asked; a GPU evaluates one
candidate after another; a challenger is compared with an elite by rounds, on the GPU that is free first, joined by GPUs
without a candidate; up to 32 results wait behind a comparison; all else of a result is done by the parent, one result
after the other.
The times of the phases are measured ones (WORKLOADS below says where). A run of `evo run` gives others with --database FILE.
Prints a table: candidates a minute, times those of one GPU, and the shares of the GPUs' time.
"""

import argparse
import heapq
import random
import sqlite3
import statistics

# Seconds. evaluation: quantiles (5, 25, 50, 75, 95 %) of validation and timing of one candidate. model: mean of one genome, on
# one of 16 busy cores; further: models for each evaluation beside its proposals, of pre-searches in the run. round: of a
# comparison, the first one of a GPU and a later one; rounds: (rounds, how many comparisons took them). challengers: the i-th
# result is one with the chance challengers/i, because elites are displaced less and less.
# One H200, 16 cores, objective fast, seed 1; mission 2026-11-27, the other 2026-11-26: docs/studies/scale.md.
WORKLOADS = {
    "mission": {"evaluation": [0.074, 0.130, 0.145, 0.217, 0.255], "model": 0.60, "further": 1.1, "round": (0.03, 0.03),
                "rounds": [(3, 26), (4, 3), (9, 7)], "challengers": 6.2},
    "1,8,4096,128": {"evaluation": [0.05, 0.368, 0.387, 0.478, 0.607], "model": 1.05, "further": 1.1, "round": (0.36, 0.36),
                     "rounds": [(3, 16), (4, 3), (6, 3), (9, 11)], "challengers": 6.4},
}
PARENT_S = 0.013  # Of the parent for one result: four proposals, one answer, one record (two shared cores).
AMONG = 4         # Proposals for each candidate; as many models may be late. Then a batch has one proposal less.
AHEAD, AHEAD_OF_EACH = 6, 4  # Measurements between a proposal and the use of its model, at least and of each GPU.
UNDER_WAY = 2     # Candidates of a GPU.
WAITING = 32      # Results behind a comparison.


def measured(database):
    """A workload from a run's database; what it does not hold is the mission's."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    times = sorted(v + t for v, t in connection.execute("SELECT validation_s, timing_s FROM evaluation"))
    workload = dict(WORKLOADS["mission"])
    workload["evaluation"] = [times[min(int(len(times) * part), len(times) - 1)] for part in (0.05, 0.25, 0.5, 0.75, 0.95)]
    return workload


def drawn_from(quantiles, rng):
    """Between the quantiles linear."""
    at = rng.uniform(0, len(quantiles) - 1)
    low = int(at)
    return quantiles[low] + (at - low) * (quantiles[min(low + 1, len(quantiles) - 1)] - quantiles[low])


class Simulation:
    def __init__(self, workload, gpus, cores, evaluations, rng):
        self.workload, self.gpus, self.evaluations, self.rng = workload, gpus, evaluations, rng
        self.cores = [0.0] * cores  # When each is free.
        heapq.heapify(self.cores)
        self.events = []  # (time, order, action)
        self.order = 0
        self.now = 0.0
        self.free_gpus = gpus
        self.queue = []       # Candidates that no GPU has taken.
        self.finished = []    # Results that the parent has not taken.
        self.recording = []   # Results that wait to be stored.
        self.comparing = None  # Rounds left of the comparison, rounds under way, GPUs that have begun one.
        self.batches = []     # When each model of each batch is ready.
        self.late = []        # When those are ready that were not waited for.
        self.in_flight = self.asked = self.taken = self.recorded = 0
        self.parent_busy = False
        self.spent = {"evaluating": 0.0, "comparing": 0.0}
        self.waited_for_models = 0.0

    def at(self, time, action):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, action))

    def model(self):
        """When the core that is free first has modelled a genome."""
        begin = max(heapq.heappop(self.cores), self.now)
        end = begin + self.rng.lognormvariate(0, 0.4) * self.workload["model"] / 1.083  # of mean `model`
        heapq.heappush(self.cores, end)
        return end

    def model_batch(self):
        """When each model of a batch is ready. Those of a pre-search come behind them."""
        ready = [self.model() for _ in range(AMONG - (len(self.late) >= AMONG))]
        further = self.workload["further"]
        for _ in range(int(further) + (self.rng.random() < further % 1)):
            self.model()
        return ready

    def parent(self):
        """What the parent does next: takes a result, or asks for a proposal."""
        if self.parent_busy:
            return
        if self.finished and len(self.recording) < WAITING:
            self.finished.pop(0)
            self.in_flight -= 1
            self.taken += 1
            self.recording.append(self.rng.random() < self.workload["challengers"] / self.taken)
            self.busy_until(self.now + PARENT_S / 2, self.store)
        elif self.in_flight < UNDER_WAY * self.gpus and self.asked < self.evaluations:
            while len(self.batches) <= max(AHEAD, AHEAD_OF_EACH * self.gpus):
                self.batches.append(self.model_batch())
            due = sorted(self.batches.pop(0) + self.late)
            ready = due[max(0, len(due) - AMONG - 1)]
            self.late = [time for time in due if time > max(ready, self.now)]
            if self.free_gpus and not self.queue:
                self.waited_for_models += max(0.0, ready - self.now) * self.free_gpus
            self.in_flight += 1
            self.asked += 1
            self.busy_until(max(self.now, ready) + PARENT_S / 2, lambda: self.queue.append(drawn_from(self.workload["evaluation"], self.rng)))

    def busy_until(self, time, then):
        self.parent_busy = True

        def done():
            self.parent_busy = False
            then()

        self.at(time, done)

    def store(self):
        """Stores results in order; a challenger waits for its comparison."""
        while self.recording and self.comparing is None:
            if self.recording[0]:
                rounds = self.rng.choices([r for r, _ in self.workload["rounds"]], [n for _, n in self.workload["rounds"]])[0]
                self.comparing = [rounds, 0, 0]
                return
            self.recording.pop(0)
            self.recorded += 1

    def give_work(self):
        """Free GPUs take rounds of a comparison if it has none under way, then candidates, then rounds again."""
        while self.free_gpus:
            if self.comparing and self.comparing[1] == 0:
                self.begin_round()
            elif self.queue:
                duration = self.queue.pop(0)
                self.spent["evaluating"] += duration
                self.free_gpus -= 1
                self.at(self.now + duration, self.evaluated)
            elif self.comparing and self.comparing[1] < self.comparing[0]:
                self.begin_round()
            else:
                return

    def begin_round(self):
        is_first = self.comparing[1] == self.comparing[2]
        self.comparing[1] += 1
        self.comparing[2] += is_first
        self.free_gpus -= 1
        duration = self.workload["round"][0 if is_first else 1]
        self.spent["comparing"] += duration
        comparison = self.comparing
        self.at(self.now + duration, lambda: self.round_done(comparison))

    def evaluated(self):
        self.free_gpus += 1
        self.finished.append(True)

    def round_done(self, comparison):
        self.free_gpus += 1
        if self.comparing is not comparison:
            return  # Another GPU's round has decided it.
        self.comparing[0] -= 1
        self.comparing[1] -= 1
        if self.comparing[0] == 0:
            self.comparing = None
            self.recording.pop(0)
            self.recorded += 1
            self.store()

    def run(self):
        while self.recorded < self.evaluations:
            self.parent()
            self.give_work()
            if not self.parent_busy and not self.events:
                raise RuntimeError("nothing is left to happen")
            if self.events:
                self.now, _, action = heapq.heappop(self.events)
                action()
        whole = self.now * self.gpus
        shares = {name: seconds / whole for name, seconds in self.spent.items()}
        shares["waiting for models"] = self.waited_for_models / whole
        return 60 * self.evaluations / self.now, shares


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2, 4, 8])
    parser.add_argument("--cores-per-gpu", type=int, default=16)
    parser.add_argument("--workload", choices=WORKLOADS, default="mission")
    parser.add_argument("--database")
    parser.add_argument("--evals", type=int, default=200)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    workload = measured(arguments.database) if arguments.database else WORKLOADS[arguments.workload]
    print("| GPUs | a minute | times | evaluating | comparing | waiting for models |\n|---|---|---|---|---|---|")
    one = None
    for gpus in arguments.gpus:
        results = [Simulation(workload, gpus, gpus * arguments.cores_per_gpu, arguments.evals, random.Random(seed)).run()
                   for seed in range(arguments.runs)]
        rates = [rate for rate, _ in results]
        rate = statistics.mean(rates)
        one = one or rate / gpus
        shares = {name: statistics.mean(shares[name] for _, shares in results) for name in results[0][1]}
        spread = f" ±{1.96 * statistics.stdev(rates) / len(rates) ** 0.5:.0f}" if len(rates) > 1 else ""
        print(f"| {gpus} | {rate:.0f}{spread} | {rate / one:.2f} | " + " | ".join(f"{100 * share:.0f} %" for share in shares.values()) + " |")


if __name__ == "__main__":
    main()
