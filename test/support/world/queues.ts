/** Queues and schedules in front of the functions. */
import type { Data } from './asl.ts';
import type { Chaos } from './chaos.ts';
import type { Answer } from './execution.ts';
import type { Loop } from './loop.ts';
import type { Random } from './random.ts';

const RECONCILE_SECONDS = 300;
const SWEEP_EVERY = 12;

interface QueueDeps {
  readonly loop: Loop;
  readonly random: Random;
  readonly chaos: Chaos;
  readonly invoke: (name: string, event: Data) => Promise<Answer>;
}

const VISIBILITY_SECONDS = 60;
const MAXIMUM_RECEIVES = 10;

/** Events are lost, doubled, late and out of order; a message that is not taken comes again, up to a limit. */
export function queues({ loop, random, chaos, invoke }: QueueDeps) {
  let inFlight = 0;
  const receive = async (
    name: string,
    messages: readonly { messageId: string; body: string }[],
    times: number,
  ) => {
    inFlight += 1;
    const answer = await invoke(name, { messages });
    inFlight -= 1;
    const left =
      answer.kind === 'error'
        ? messages
        : messages.filter(({ messageId }) => failedOf(answer.value).has(messageId));
    if (left.length > 0 && times < MAXIMUM_RECEIVES) {
      loop.after(VISIBILITY_SECONDS, () => void receive(name, left, times + 1));
    }
  };
  return {
    isQuiet: () => inFlight === 0,
    /** @param lossy whether the event may be lost; S3's are kept for a day by EventBridge, SageMaker's are best effort */
    send: (name: string, body: unknown, lossy: boolean) => {
      const stormy = chaos.rate > 0;
      const copies = stormy && lossy && random.chance(0.3) ? 0 : stormy && random.chance(0.3) ? 2 : 1;
      for (let copy = 0; copy < copies; copy += 1) {
        const message = { messageId: `m${random.whole(1, 1e9)}`, body: JSON.stringify(body) };
        const delay = stormy ? random.whole(0, random.chance(0.2) ? 4_000 : 30) : 1;
        loop.after(delay, () => void receive(name, [message], 1));
      }
    },
    /** Messages of one batch. */
    sendBatch: (name: string, bodies: readonly unknown[]) => {
      const messages = bodies.map((body, index) => ({ messageId: `b${index}`, body: JSON.stringify(body) }));
      loop.after(1, () => void receive(name, messages, 1));
    },
    /** The schedule that reconciles; it never fails to fire, the function may. */
    keepReconciling: () => {
      let turn = 0;
      const fire = () => {
        turn += 1;
        loop.after(RECONCILE_SECONDS, fire);
        void invoke('Reconcile', { sweep: turn % SWEEP_EVERY === 0 });
      };
      loop.after(RECONCILE_SECONDS, fire);
    },
  };
}

function failedOf(taken: unknown): ReadonlySet<string> {
  const failed = (taken as { failed?: readonly { messageId: string }[] }).failed ?? [];
  return new Set(failed.map(({ messageId }) => messageId));
}
