/** What watching costs on AWS, from the calls and bytes that a page really makes. List prices of us-east-1, November 2026. */

/** https://aws.amazon.com/api-gateway/pricing/: HTTP API, the first 300 million a month. */
const CALL_USD = 1 / 1e6;
/** https://aws.amazon.com/lambda/pricing/: a request, and a GB-second on arm64. */
const INVOCATION_USD = 0.2 / 1e6;
const GIGABYTE_SECOND_USD = 0.0000133334;
/** https://aws.amazon.com/ec2/pricing/on-demand/#Data_Transfer: to the internet, beyond the free 100 GB. */
const SENT_GIGABYTE_USD = 0.09;

const LAMBDA_GIGABYTES = 0.5;
/** Of a small call, warm; `npm run bench:latency` measures calls on one machine. */
const LAMBDA_SECONDS = 0.03;

export interface Watched {
  readonly calls: number;
  readonly bytes: number;
  readonly seconds: number;
}

export const HOURS_A_DAY = 8;
export const PEOPLE = 10;

/** Of ten people who watch a run all day. */
export function dayUsd({ calls, bytes, seconds }: Watched): number {
  const times = (PEOPLE * HOURS_A_DAY * 3_600) / seconds;
  const eachUsd = CALL_USD + INVOCATION_USD + LAMBDA_SECONDS * LAMBDA_GIGABYTES * GIGABYTE_SECOND_USD;
  return times * (calls * eachUsd + (bytes / 1e9) * SENT_GIGABYTE_USD);
}
