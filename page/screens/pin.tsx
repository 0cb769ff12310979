/** Pins the version of a dataset that a generation ended, or takes the pin out, with what runs then train on. */
import { pinnable, samplesOf } from '../model/pin.ts';
import { Disclosure } from '../parts/disclosure.tsx';
import { Send } from '../parts/send.tsx';
import { type AnswerOf, answered, client } from '../state/api.ts';

interface PinProps {
  readonly pipeline: string;
  readonly dataset: AnswerOf<'getDataset'>;
  readonly generation: string;
  /** Reads the dataset again. */
  readonly onChange: () => void;
}

const AFTERWARDS =
  'Open runs go on as they are. The declaration in the bucket changes: a later drop or apply of a file that says otherwise changes it back.';

/** Keys: what one of them has opened, the other does not show, or a second press would undo the first. */
export function Pin({ pipeline, dataset, generation, onChange }: PinProps) {
  const { pinned } = dataset;
  const version = pinnable(dataset, generation);
  const send = async (given: string | null) =>
    answered(await client.call('putPin', { name: pipeline, body: { generation: given } }));
  if (generation === pinned)
    return (
      <Disclosure key="unpin" id="unpin" class="steering" summary={`Take the pin of ${generation} out`}>
        {() => (
          <>
            <p>{`Runs whose batch closes from now on train on all that is sealed then. ${AFTERWARDS}`}</p>
            <Send text="Take the pin out" call={() => send(null)} onDone={onChange} />
          </>
        )}
      </Disclosure>
    );
  if (version === undefined) return null;
  const samples = samplesOf(dataset, version.generations);
  const instead = pinned === undefined ? '' : ` instead of the version of ${pinned}`;
  return (
    <Disclosure key="pin" id="pin" class="steering" summary={`Pin the version of ${generation}`}>
      {() => (
        <>
          <p>
            {`Runs whose batch closes from now on train on version ${version.number}${instead}: ${samples.toLocaleString()} samples of ${version.generations.join(', ')}. New arrivals are packed, and train once the pin is taken out. ${AFTERWARDS}`}
          </p>
          <Send text="Pin" call={() => send(generation)} onDone={onChange} />
        </>
      )}
    </Disclosure>
  );
}
