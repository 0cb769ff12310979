/** A job's metrics: what its MetricDefinitions catch in the logs, and how busy its hosts are. */
import { totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type CloudWatchClient, type MetricDatum, PutMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import type { MetricDefinition } from '@aws-sdk/client-sagemaker';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { FinalMetric } from '../model/job-record.ts';
import type { HostUsage } from './host-process.ts';
import type { ScanAnswer, ScanRequest } from './metric-worker.ts';

const METRIC_NAMESPACE = '/aws/sagemaker/TrainingJobs';

/** Longer lines are no metrics. */
const LINE_CHARACTERS = 4_096;
const WAITING_LINES = 20_000;
const PAUSE_MS = 500;
/** Of PutMetricData. */
const BATCH_DATA = 1_000;

interface JobMetricsOptions {
  readonly jobName: string;
  readonly definitions: readonly MetricDefinition[];
  readonly before: readonly FinalMetric[];
  readonly client: CloudWatchClient;
  readonly scanner: LineScanner;
  readonly log: (line: string) => void;
}

export interface LineScanner {
  scan(patterns: readonly string[], lines: readonly string[]): Promise<Pick<ScanAnswer, 'hits' | 'unusable'>>;
  close(): Promise<void>;
}

/** One thread for all jobs, started with the first line that has to be looked at. */
export function makeLineScanner(): LineScanner {
  let worker: Worker | undefined;
  let lastId = 0;
  const waiting = new Map<number, (answer: ScanAnswer) => void>();
  const fail = (error: Error): void => {
    worker = undefined;
    const unusable = [{ pattern: 0, reason: error.message }];
    for (const [id, resolve] of waiting) resolve({ id, hits: [], unusable });
    waiting.clear();
  };
  const start = (): Worker => {
    const started = new Worker(new URL('metric-worker.ts', import.meta.url));
    started.on('message', (answer: ScanAnswer) => {
      waiting.get(answer.id)?.(answer);
      waiting.delete(answer.id);
    });
    started.on('error', fail);
    started.unref();
    return started;
  };
  return {
    scan: (patterns, lines) => {
      worker ??= start();
      lastId += 1;
      const { promise, resolve } = Promise.withResolvers<ScanAnswer>();
      waiting.set(lastId, resolve);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage({ id: lastId, patterns, lines } satisfies ScanRequest);
      return promise;
    },
    close: async () => {
      await worker?.terminate();
    },
  };
}

const share = (value: number): Pick<MetricDatum, 'Value' | 'Unit'> => ({
  Value: Math.max(0, value * 100),
  Unit: 'Percent',
});

export class JobMetrics {
  readonly #options: JobMetricsOptions;
  readonly #latest: Map<string, FinalMetric>;
  readonly #lastUsage = new Map<string, { readonly usage: HostUsage; readonly at: number }>();
  readonly #unusable = new Set<string>();
  #lines: { readonly text: string; readonly at: number }[] = [];
  #data: MetricDatum[] = [];
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #hasComplained = false;

  constructor(options: JobMetricsOptions) {
    this.#options = options;
    this.#latest = new Map(options.before.map((metric) => [metric.name, metric]));
  }

  line(text: string): void {
    if (this.#options.definitions.length === 0 || text.length > LINE_CHARACTERS) return;
    if (this.#lines.length >= WAITING_LINES) return;
    this.#lines.push({ text, at: Date.now() });
    this.#wake();
  }

  usage(hostName: string, usage: HostUsage): void {
    const at = Date.now();
    const last = this.#lastUsage.get(hostName);
    this.#lastUsage.set(hostName, { usage, at });
    const seconds = last ? (at - last.at) / 1000 : 0;
    if (!last || seconds <= 0) return;
    const common = {
      Timestamp: new Date(at),
      Dimensions: [{ Name: 'Host', Value: `${this.#options.jobName}/${hostName}` }],
    };
    this.#data.push(
      // As on SageMaker: 100 for each vCPU that is fully used.
      {
        MetricName: 'CPUUtilization',
        ...common,
        ...share((usage.cpuSeconds - last.usage.cpuSeconds) / seconds),
      },
      { MetricName: 'MemoryUtilization', ...common, ...share(usage.residentBytes / totalmem()) },
    );
    this.#wake();
  }

  /** The last value of every metric. */
  latest(): readonly FinalMetric[] {
    return [...this.#latest.values()];
  }

  /** Looks through what is left and delivers it. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#working;
    await this.#work();
  }

  #wake(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#working.then(() => this.#work());
    }, PAUSE_MS);
  }

  async #work(): Promise<void> {
    try {
      await this.#scan();
      while (this.#data.length > 0) {
        const MetricData = this.#data.splice(0, BATCH_DATA);
        await this.#options.client.send(
          new PutMetricDataCommand({ Namespace: METRIC_NAMESPACE, MetricData }),
        );
      }
    } catch (error) {
      if (!this.#hasComplained)
        this.#options.log(`metrics of ${this.#options.jobName} were not delivered: ${messageOf(error)}`);
      this.#hasComplained = true;
    }
  }

  async #scan(): Promise<void> {
    const usable = this.#options.definitions.filter(({ Regex }) => !this.#unusable.has(Regex ?? ''));
    const lines = this.#lines.splice(0);
    if (lines.length === 0 || usable.length === 0) return;
    const { hits, unusable } = await this.#options.scanner.scan(
      usable.map(({ Regex }) => Regex ?? ''),
      lines.map(({ text }) => text),
    );
    for (const { pattern, reason } of unusable) this.#giveUp(usable[pattern], reason);
    const inOrder = hits.toSorted((left, right) => left.line - right.line);
    for (const { pattern, line, value } of inOrder)
      this.#take(usable[pattern]?.Name ?? '', value, lines[line]?.at ?? 0);
  }

  #giveUp(definition: MetricDefinition | undefined, reason: string): void {
    this.#unusable.add(definition?.Regex ?? '');
    const name = definition?.Name ?? '';
    this.#options.log(`${this.#options.jobName}: metric '${name}' is not watched any more: ${reason}`);
  }

  #take(name: string, value: number, at: number): void {
    this.#latest.set(name, { name, value, at });
    this.#data.push({
      MetricName: name,
      Value: value,
      Timestamp: new Date(at),
      Dimensions: [{ Name: 'TrainingJobName', Value: this.#options.jobName }],
    });
  }
}
