/** Shares of work on threads. */
import { Worker } from 'node:worker_threads';

interface Threads {
  /** Answers each message, a share, with one. */
  readonly script: URL;
  readonly workerData?: unknown;
  readonly threads: number;
}

/** Hands each share to the next free thread. @returns the answers in the order of the shares */
export async function onThreads<Answer>(
  shares: readonly unknown[],
  { script, workerData, threads }: Threads,
): Promise<Answer[]> {
  const waiting = [...shares.entries()];
  const answers: Answer[] = [];
  const thread = async (): Promise<void> => {
    const worker = new Worker(script, { workerData });
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        answers[next[0]] = await answerOf<Answer>(worker, next[1]);
    } catch (error: unknown) {
      waiting.length = 0;
      throw error;
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(threads, waiting.length) }, thread));
  return answers;
}

function answerOf<Answer>(worker: Worker, share: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const done = (answer: Answer): void => {
      worker.off('error', reject);
      resolve(answer);
    };
    worker.once('message', done).once('error', reject);
    worker.postMessage(share);
  });
}
