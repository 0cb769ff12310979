/** The screen "Data": generations and versions of a dataset, classes before and after, and what was rejected. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { bytesText } from '../../client/amounts.ts';
import { BarsCard } from '../charts/figure.tsx';
import { type DatasetView as Dataset, pinnable } from '../model/pinnable.ts';
import { Empty, Frame, Section } from '../parts/card.tsx';
import { DialogButton } from '../parts/controls.tsx';
import { numbers, TableSection, wide } from '../parts/table.tsx';
import { Command, RowLink, Time } from '../parts/text.tsx';
import { address, hrefOf } from '../state/address.ts';
import { ask } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 15;
const EXAMPLES = 10;

export function DataScreen({ pipeline }: { readonly pipeline: string }) {
  const dataset = useReading('getDataset', { name: pipeline }, () => POLL_SECONDS);
  const { body } = dataset;
  const chosen = address.value.query.get('generation') ?? body?.generations[0]?.name;
  const at = chosen === undefined ? undefined : { pipeline, generation: chosen };
  const tools = at && body && <Pin key={`pin ${chosen}`} {...at} dataset={body} onChange={dataset.again} />;
  const frame = { title: pipeline, pipeline, tools, of: dataset, command: `data list ${pipeline}` };
  return (
    <Frame {...frame}>
      {({ generations, versions, pinned }) =>
        generations.length === 0 ? (
          <Empty>
            Nothing is sealed yet. Data that arrives below {pipeline}/incoming/ is packed by the next run.
          </Empty>
        ) : (
          <>
            <TableSection
              title="Generations"
              columns={GENERATION_COLUMNS}
              chosen={generations.findIndex(({ name }) => name === chosen)}
              rows={generations.map((each) => {
                const { name } = each;
                const href = hrefOf(['pipelines', pipeline, 'data'], { generation: name });
                const isChosen = name === chosen || undefined;
                return [<RowLink {...{ name, href }} aria-current={isChosen} />, ...cellsOf(each, pinned)];
              })}
            />
            {at && <Chosen key={chosen} {...at} />}
            <TableSection
              title="Versions"
              columns={[...numbers('version'), 'change', 'made of']}
              rows={versions.map(({ number, kind, changed, generations: of }) => {
                return [number, `${kind} ${changed.join(', ')}`, of.join(', ') || 'nothing'];
              })}
            />
          </>
        )
      }
    </Frame>
  );
}

const GENERATION_COLUMNS = [
  'generation',
  'state',
  ...wide('listed'),
  ...numbers('samples', 'shards', 'bytes', 'rejected'),
];

type Generation = Dataset['generations'][number];

const cellsOf = ({ name, state, problem, listedAt, samples, ...counts }: Generation, pinned?: string) => [
  <>
    {name === pinned ? `${state}, pinned` : state}
    {problem !== undefined && <p class="problem">{problem}</p>}
  </>,
  listedAt && <Time at={listedAt} />,
  samples?.toLocaleString(),
  counts.shards,
  counts.bytes !== undefined && bytesText(counts.bytes),
  counts.rejected,
];

type ChosenProps = Readonly<{ pipeline: string; generation: string }>;

function Chosen(at: ChosenProps) {
  const { pipeline: name, generation } = at;
  const { body } = useReading('getGeneration', { name, generation });
  if (body === undefined) return null;
  const { classes, samples, rejected, rejectedByReason } = body;
  const reasons = Object.entries(rejectedByReason);
  return (
    <>
      {classes.length > 0 && (
        <BarsCard
          title="Classes"
          note="grey: as they arrived; green: in the shards"
          bars={classes.flatMap(({ label, arrived, sealed }) => [
            { name: `${label}: ${arrived} arrived`, value: arrived, kind: 'is-arrived' },
            { name: `${label}: ${sealed} in the shards`, value: sealed, kind: 'is-spot' },
          ])}
          columns={['class', ...numbers('arrived', 'in the shards')]}
          rows={classes.map(({ label, arrived, sealed }) => [label, arrived, sealed])}
        />
      )}
      {samples.length === 0 ? (
        <Empty>It holds no shard to look into.</Empty>
      ) : (
        <Samples {...at} title={`First samples of ${generation}`} items={samples} />
      )}
      {reasons.length === 0 ? (
        <p class="quiet">It rejected nothing.</p>
      ) : (
        <Section title="Rejected">
          {reasons.map(([reason, count]) => {
            const examples = rejected.filter((each) => each.reason === reason).slice(0, EXAMPLES);
            const items = examples.map(({ key }) => ({ rejected: key }));
            return <Samples key={reason} {...at} title={`${reason}: ${count}`} items={items} />;
          })}
        </Section>
      )}
    </>
  );
}

/** Of a sample in a shard, or of a rejected object by its key. */
type Item = Readonly<{ shard?: string; member?: string; rejected?: string; label?: string | undefined }>;
type SamplesProps = ChosenProps & Readonly<{ title: string; items: readonly Item[] }>;

const Samples = ({ title, items, ...at }: SamplesProps) => (
  <Section title={title} kind="stack">
    <ul class="samples">
      {items.map((item) => {
        const key = item.member ?? item.rejected ?? '';
        return (
          <li key={key}>
            <Thumbnail {...at} {...item} />
            <p class={`quiet ${item.rejected === undefined ? 'clip' : ''}`} title={key}>
              {item.label === undefined ? key : `${item.label}: ${key}`}
            </p>
          </li>
        );
      })}
    </ul>
  </Section>
);

/** Others are not read. */
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;

/** A small image of the dataset, read when it comes into view. The API sniffs its type; the browser gets nothing else. */
function Thumbnail({ pipeline: name, generation, shard, member, rejected }: ChosenProps & Item) {
  const isImage = IMAGE.test(member ?? rejected ?? '');
  const place = useRef<HTMLDivElement>(null);
  const read = useSignal<Readonly<{ image?: string; problem?: string }>>({});
  useEffect(() => {
    const frame = place.current;
    if (frame === null || !isImage) return undefined;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      seen.disconnect();
      void ask('getImage', { name, generation, shard, member, rejected }).then((answer) => {
        if (answer.kind === 'ok')
          read.value = { image: `data:${answer.body.type};base64,${answer.body.base64}` };
        else read.value = { problem: answer.kind === 'refused' ? answer.message : 'no answer' };
      });
    });
    seen.observe(frame);
    return () => seen.disconnect();
  }, [name, generation, shard, member, rejected]);
  const { image, problem } = read.value;
  return (
    <div class="thumbnail" ref={place} title={problem}>
      {image ? (
        <img src={image} alt="" />
      ) : (
        <span aria-hidden="true">{isImage && !problem ? '…' : 'no image'}</span>
      )}
    </div>
  );
}

type PinProps = ChosenProps & Readonly<{ dataset: Dataset; onChange: () => void }>;

/** Pins the version of a dataset that a generation ended, or takes the pin out, with what runs then train on. */
function Pin({ pipeline: name, dataset, generation, onChange: onDone }: PinProps) {
  const { pinned } = dataset;
  const isPinned = generation === pinned;
  const version = pinnable(dataset, generation);
  if (!isPinned && version === undefined) return null;
  const { number = '', generations = [], samples = 0 } = version ?? {};
  const instead = pinned === undefined ? '' : ` instead of the version of ${pinned}`;
  const what = isPinned
    ? 'on all that is sealed then.'
    : `on version ${number}${instead}: ${samples.toLocaleString()} samples of ${generations.join(', ')}. New arrivals are packed, and train once the pin is taken out.`;
  const call = () => ask('putPin', { name, body: { generation: isPinned ? null : generation } });
  const [text, title, pin] = isPinned
    ? ['Unpin…', `Take the pin of ${generation} out`, 'Take the pin out']
    : ['Pin…', `Pin the version of ${generation}`, 'Pin'];
  return (
    <DialogButton key={text} text={text} title={title} act={{ text: pin, call, onDone }}>
      {() => (
        <>
          <p>
            {`Runs whose batch closes from now on train ${what} Open runs go on as they are. The declaration in the bucket changes: a later drop or apply of a file that says otherwise changes it back.`}
          </p>
          {!isPinned && <Command of={`data pin ${name} ${generation}`} />}
        </>
      )}
    </DialogButton>
  );
}
