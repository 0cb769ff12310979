/** The CPUs of the host are the limit: more of them beside each accelerator, from a larger type or from helper hosts. */
import { type BatchCost, coresForWorkers, waitFacts } from './batch-cost.ts';
import { type Evidence, withSameAccelerators } from './evidence.ts';
import type { DoctorFinding } from './gain.ts';
import type { HostMeasures } from './measures.ts';

/** What a helper's CPU is worth beside a local one: the prior of placement. */
const HELPER_CPU = 0.8;
/** Below this share of today's cost, other hosts are worth the change. */
const CHEAPER = 0.95;
const HELPER_NODES = [1, 2, 4] as const;

type HostOption = Required<Pick<DoctorFinding, 'change' | 'stepSeconds' | 'usdPerSecond' | 'next'>>;

export function preparationFinding(evidence: Evidence, pace: HostMeasures, cost: BatchCost): DoctorFinding {
  const [best] = [...largerTypes(evidence, pace, cost), ...helpers(evidence, pace, cost)].toSorted(
    (a, b) => a.stepSeconds * a.usdPerSecond - b.stepSeconds * b.usdPerSecond,
  );
  const { decodeShare } = pace;
  const common = {
    cause: causeOf(decodeShare),
    evidence: { ...waitFacts(pace), ...(decodeShare === undefined ? {} : { decodeShare }) },
  };
  const unknown =
    decodeShare === undefined ? ['how much of the CPU time is decoding and how much transforms'] : [];
  const now = pace.stepSeconds * evidence.instance.usdPerSecond;
  if (best && best.stepSeconds * best.usdPerSecond < CHEAPER * now)
    return {
      ...common,
      ...best,
      modelError: 0.2,
      unknown: [...unknown, 'the workers must follow the cores'],
    };
  return {
    ...common,
    change: { kind: 'prepare-when-packing' },
    stepSeconds: Math.max(cost.rest, pace.stepSeconds / 2),
    modelError: 1,
    unknown: [...unknown, 'how much of it can be done when packing: half is assumed'],
  };
}

const causeOf = (decodeShare: number | undefined): DoctorFinding['cause'] => {
  if (decodeShare === undefined) return 'preparation';
  return decodeShare >= 0.5 ? 'decoding' : 'transforms';
};

const limited = (rest: number, byCpu: number): Pick<HostOption, 'stepSeconds' | 'next'> => ({
  stepSeconds: Math.max(rest, byCpu),
  next: byCpu > rest ? 'the CPUs of the host' : 'the accelerator',
});

function largerTypes(
  evidence: Evidence,
  pace: HostMeasures,
  { cpuSeconds, rest }: BatchCost,
): readonly HostOption[] {
  const { facts } = evidence.instance;
  return withSameAccelerators(evidence)
    .filter((each) => each.facts.vcpu > facts.vcpu)
    .map((each) => ({
      change: { kind: 'instance-type', type: each.facts.type },
      usdPerSecond: each.usdPerSecond,
      ...limited(rest, cpuSeconds / coresForWorkers((pace.cores * each.facts.vcpu) / facts.vcpu)),
    }));
}

function helpers(
  { alternatives, instance }: Evidence,
  pace: HostMeasures,
  { cpuSeconds, rest }: BatchCost,
): readonly HostOption[] {
  if (instance.facts.accelerator === undefined) return [];
  const cpuTypes = alternatives.filter((each) => each.facts.acceleratorCount === 0);
  return cpuTypes.flatMap(({ facts, usdPerSecond }) =>
    HELPER_NODES.map((nodes) => ({
      change: { kind: 'helpers', type: facts.type, nodes } as const,
      usdPerSecond: instance.usdPerSecond + nodes * usdPerSecond,
      ...limited(rest, cpuSeconds / (coresForWorkers(pace.cores) + HELPER_CPU * nodes * facts.vcpu)),
    })),
  );
}
