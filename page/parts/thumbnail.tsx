/** A small image of the dataset, read when it comes into view. The API sniffs its type; the browser gets nothing else. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { client } from '../state/api.ts';

/** Others are not read. */
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;

interface ThumbnailProps {
  readonly pipeline: string;
  readonly generation: string;
  readonly shard?: string;
  readonly member?: string;
  /** Key of a rejected object, instead of shard and member. */
  readonly rejected?: string;
}

export function Thumbnail({ pipeline, generation, shard, member, rejected }: ThumbnailProps) {
  const isImage = IMAGE.test(member ?? rejected ?? '');
  const place = useRef<HTMLDivElement>(null);
  const image = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const frame = place.current;
    if (frame === null || !isImage) return undefined;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      seen.disconnect();
      void client.call('getImage', { name: pipeline, generation, shard, member, rejected }).then((answer) => {
        if (answer.kind === 'ok') image.value = `data:${answer.body.type};base64,${answer.body.base64}`;
        else problem.value = answer.kind === 'refused' ? answer.message : 'the API gives no answer';
      });
    });
    seen.observe(frame);
    return () => seen.disconnect();
  }, [pipeline, generation, shard, member, rejected]);
  return (
    <div class="thumbnail" ref={place} title={problem.value}>
      {image.value === undefined ? (
        <span aria-hidden="true">{isImage && problem.value === undefined ? '…' : 'no image'}</span>
      ) : (
        <img src={image.value} alt="" />
      )}
    </div>
  );
}
