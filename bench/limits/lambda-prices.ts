/** List prices of what AWS bills by the request, in us-east-1. */

interface Price {
  readonly usd: number;
  readonly per: number;
}

/** Looked up on 22 November 2026. */
const PRICES = {
  /** PUT, COPY, POST and LIST. https://aws.amazon.com/s3/pricing/ */
  's3 put or list': { usd: 0.005, per: 1_000 },
  's3 get': { usd: 0.0004, per: 1_000 },
  /** https://aws.amazon.com/lambda/pricing/ */
  'lambda invocation': { usd: 0.2, per: 1_000_000 },
  'lambda GB-second (arm)': { usd: 0.000_013_333_4, per: 1 },
  /** Entered states and retries of a standard workflow. https://aws.amazon.com/step-functions/pricing/ */
  'state transition': { usd: 0.025, per: 1_000 },
  /** On demand: an item of 1 KB. https://aws.amazon.com/dynamodb/pricing/on-demand/ */
  'dynamodb write': { usd: 0.625, per: 1_000_000 },
  /** An item of 4 KB, strongly consistent. */
  'dynamodb read': { usd: 0.125, per: 1_000_000 },
  /** Standard queues. Notifications of S3 cost nothing else. https://aws.amazon.com/sqs/pricing/ */
  'sqs request': { usd: 0.4, per: 1_000_000 },
  /** Custom events. https://aws.amazon.com/eventbridge/pricing/ */
  'event on the bus': { usd: 1, per: 1_000_000 },
} as const satisfies Readonly<Record<string, Price>>;

export type RequestKind = keyof typeof PRICES;

export type Requests = ReadonlyMap<RequestKind, number>;

export interface PricedRequests {
  readonly kind: RequestKind;
  readonly count: number;
  readonly usd: number;
}

export const priced = (requests: Requests): readonly PricedRequests[] =>
  [...requests].map(([kind, count]) => {
    const { usd, per } = PRICES[kind];
    return { kind, count: Math.round(count), usd: (count * usd) / per };
  });

export function addRequests(
  requests: Map<RequestKind, number>,
  kind: RequestKind | undefined,
  count: number,
): void {
  if (kind !== undefined && count > 0) requests.set(kind, (requests.get(kind) ?? 0) + count);
}
