/** Whether CPU helper nodes pay: the same samples for less money, by the throughput model. */
import { catalogTypes, type FactsOf, instanceFacts, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { assumed } from '../model/assumed.ts';
import { forecastStep, type HelperGroup, type Workload } from './throughput.ts';

interface HelperQuestion {
  readonly workload: Workload;
  readonly instanceType: string;
  readonly nodes: number;
  readonly region: string;
  /** CPU types that may help; default: the c5 family, the one with listed SageMaker prices. */
  readonly candidates?: readonly string[] | undefined;
  readonly maximumNodes?: number | undefined;
  /** USD an hour of one instance; default: the catalog's. A type without a known price is no candidate. */
  readonly priceOf?: ((instanceType: string) => number | undefined) | undefined;
  /** Default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

interface HelperAdvice {
  readonly helpers: HelperGroup | undefined;
  readonly reason: string;
}

const MAXIMUM_HELPERS_PER_NODE = 4;

/** Undefined: a price is unknown, so costs cannot be compared. */
export function adviseHelpers(question: HelperQuestion): HelperAdvice | undefined {
  const { workload, instanceType, nodes, region } = question;
  const priceOf = question.priceOf ?? ((type: string) => trainingPrice(type, region)?.hourlyUsd);
  const price = priceOf(instanceType);
  if (price === undefined) return undefined;
  const without = forecastStep(workload, { instanceType, nodes }, question.hardware);
  if (without.bottleneck !== 'host')
    return {
      helpers: undefined,
      reason: `the ${without.bottleneck} is the bottleneck: helpers would wait for it`,
    };
  let best: HelperAdvice = { helpers: undefined, reason: '' };
  let bestRatio = 1;
  for (const helpers of helperGroups(question)) {
    const helperPrice = priceOf(helpers.instanceType);
    if (helperPrice === undefined) continue;
    const forecast = forecastStep(workload, { instanceType, nodes, helpers: [helpers] }, question.hardware);
    const timeRatio = forecast.stepSeconds / without.stepSeconds;
    const costRatio = timeRatio * (1 + (helperPrice * helpers.nodes) / (price * nodes));
    if (costRatio < 1 && burden(costRatio, helpers) < burden(bestRatio, best.helpers) - 1e-9) {
      const reason = `hosts are the bottleneck: ${helpers.nodes} x ${helpers.instanceType} make a step ${percent(1 - timeRatio)} shorter and ${percent(1 - costRatio)} cheaper (+-${percent(forecast.uncertainty)})`;
      best = { helpers, reason };
      bestRatio = costRatio;
    }
  }
  if (bestRatio <= 1 - assumed.helperGain) return best;
  return { helpers: undefined, reason: 'helpers would cost what they save' };
}

const burden = (costRatio: number, helpers: HelperGroup | undefined): number =>
  costRatio + assumed.helperGain * Math.max(0, (helpers?.nodes ?? 0) - 1);

/** The c5 family has listed SageMaker prices. */
const HELPER_TYPES: readonly string[] = catalogTypes().filter((type) => type.startsWith('c5.'));

/** Those of the named groups, and those that may be added. */
export const helperTypesOf = ({
  helpers = [],
  mayAddHelpers: may,
}: Pipeline['compute']): readonly string[] => [
  ...helpers.map(({ instanceType }) => instanceType),
  ...(may === undefined ? [] : (may.instanceTypes ?? HELPER_TYPES)),
];

function helperGroups({
  candidates,
  nodes,
  maximumNodes,
  hardware = instanceFacts,
}: HelperQuestion): readonly HelperGroup[] {
  const types = candidates ?? HELPER_TYPES;
  return types
    .filter((type) => hardware(type)?.acceleratorCount === 0)
    .flatMap((type) =>
      Array.from({ length: Math.min(maximumNodes ?? 64, MAXIMUM_HELPERS_PER_NODE * nodes) }, (_, k) => ({
        instanceType: type,
        nodes: k + 1,
      })),
    );
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
