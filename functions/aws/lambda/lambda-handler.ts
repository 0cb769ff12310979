/** Wraps every handler with logger, metrics, input checks, and errors whose class the state machine can act on. */

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import type { MiddlewareObj } from '@middy/core';
import middy from '@middy/core';
import { InvalidInputError, TransientError } from '@tidewheel/kit/errors.ts';
import { once } from '@tidewheel/kit/once.ts';
import { check } from '@tidewheel/kit/validation.ts';
import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { isRetryableAwsError } from '../../records/aws-error-class.ts';
import type { Diagnosis } from '../../records/run-records.ts';
import type { QueueMessage, Taken } from '../../run/queue-messages.ts';

export const logger = new Logger({ serviceName: 'tidewheel' });
const metrics = new Metrics({ namespace: 'Tidewheel', serviceName: 'tidewheel' });

/**
 * @param name of the function, as its folder
 * @param input schema of the event; an event of another shape is an InvalidInputError that names every problem
 * @returns the wrapped handler, for the module to export
 */
export function lambdaHandler<Input, Output>(
  name: string,
  input: z.ZodType<Input>,
  handle: (input: Input, context: Context) => Promise<Output>,
) {
  readStacksBySources(import.meta.url);
  return middy<unknown, Output>()
    .use(injectLambdaContext(logger))
    .use(logMetrics(metrics, { captureColdStartMetric: false }))
    .use(errorClasses(name))
    .handler(async (event: unknown, context: Context) => handle(parse(name, input, event), context));
}

const queueEvent = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

/** For a function that a queue invokes: the messages that failed are delivered again. @param title of the line in the log */
export const queueHandler = (
  name: string,
  title: string,
  take: (messages: readonly QueueMessage[]) => Promise<Taken>,
) =>
  lambdaHandler(name, queueEvent, async ({ Records }) => {
    const { failed, notes } = await take(Records);
    logger.info(title, { messages: Records.length, notes, failed });
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  });

function parse<Input>(name: string, schema: z.ZodType<Input>, event: unknown): Input {
  const checked = check(schema, event, 'hidden');
  if (checked.ok) return checked.value;
  throw new InvalidInputError(name, checked.problems);
}

/**
 * Counts what failed within an invocation that succeeded. An alarm reads it (serverless/alarms.ts). CloudWatch bills a
 * metric for the hours that have a value, so nothing is sent while nothing fails.
 */
export function countPartialFailures({ functionName }: Context, failures: number): void {
  if (failures === 0) return;
  // Of its own dimension: the function's name holds the stage.
  const single = metrics.singleMetric();
  single.addDimension('functionName', functionName);
  single.addMetric('PartialFailures', MetricUnit.Count, failures);
}

/** How fast the running attempts of a pipeline train, and what the doctor finds. Nothing is sent where nothing runs. */
export function publishDiagnoses(
  diagnosed: readonly { readonly pipeline: string; readonly diagnosis: Diagnosis }[],
): void {
  for (const { pipeline, diagnosis } of diagnosed) {
    const { speed, verdicts } = diagnosis;
    const values = [
      ['SamplesPerSecond', MetricUnit.CountPerSecond, speed?.samplesPerSecond],
      ['SamplesPerDollar', MetricUnit.Count, speed?.samplesPerDollar],
      ['StepSecondsMedian', MetricUnit.Seconds, speed?.stepSeconds.median],
      ['StepSecondsP95', MetricUnit.Seconds, speed?.stepSeconds.p95],
    ] as const;
    for (const [name, unit, value] of values) {
      if (value === undefined) continue;
      const single = metrics.singleMetric();
      single.addDimension('pipeline', pipeline);
      single.addMetric(name, unit, value);
    }
    const [first] = verdicts;
    if (first === undefined) continue;
    const single = metrics.singleMetric();
    single.addDimensions({ pipeline, cause: first.cause });
    single.addMetric('DoctorVerdict', MetricUnit.Count, 1);
  }
}

function count(name: string, metric: 'Succeeded' | 'Failed'): void {
  metrics.addDimension('function', name);
  metrics.addMetric(metric, MetricUnit.Count, 1);
}

/** An AWS error that will pass becomes a TransientError, the one class that the state machine retries. */
const errorClasses = (name: string): MiddlewareObj<unknown, unknown> => ({
  after: () => {
    count(name, 'Succeeded');
  },
  onError: (request) => {
    const { error } = request;
    count(name, 'Failed');
    logger.error(`${name} failed`, { error: error instanceof Error ? error : new Error(String(error)) });
    if (error instanceof Error && isRetryableAwsError(error)) {
      request.error = new TransientError(`${name}: ${error.name}: ${error.message}`, { cause: error });
    }
  },
});

/** Goes on without work that takes too long. The work itself cannot be stopped, and has to bear a repetition. */
export const withinLimit = <T>(work: Promise<T>, seconds: number): Promise<T> =>
  Promise.race([
    work,
    delay(seconds * 1_000, undefined, { ref: false }).then(() => {
      throw new TransientError(`took longer than ${seconds} s: the next round tries again`);
    }),
  ]);

/** esbuild wrote it. */
const mapSchema = z.custom<SourceMapPayload>((map) => typeof map === 'object' && map !== null);

const PLACE = /(file:[^\s:]+):(\d+):(\d+)/g;

/**
 * Maps stacks to the sources, and reads the map at the first stack: Node's `--enable-source-maps` looks at each character of a
 * bundle when it loads, a tenth of a cold start.
 * @param bundle its URL; of a file without a map, stacks stay as they are
 */
function readStacksBySources(bundle: string): void {
  const file = `${fileURLToPath(bundle)}.map`;
  if (!existsSync(file)) return;
  const map = once(() => {
    try {
      return new SourceMap(mapSchema.parse(JSON.parse(readFileSync(file, 'utf8'))));
    } catch {
      return undefined;
    }
  });
  Error.prepareStackTrace = (error, calls) =>
    [Error.prototype.toString.call(error), ...calls.map(String)]
      .join('\n    at ')
      .replaceAll(PLACE, (place, url, line, column) => {
        const origin = url === bundle && map()?.findOrigin(Number(line), Number(column));
        if (!origin || !('fileName' in origin)) return place;
        return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`;
      });
}
