// Which picture stands for an entry, by its name alone: nothing is fetched to find out.
import type { Entry } from "../../ipc/types";

export type FileType =
  | "folder"
  | "link"
  | "image"
  | "video"
  | "audio"
  | "archive"
  | "document"
  | "table"
  | "code"
  | "text"
  | "disk"
  | "file";

const ENDINGS: Partial<Record<FileType, string>> = {
  image: "jpg jpeg png gif webp avif heic heif tif tiff bmp svg raw cr2 cr3 nef arw dng orf rw2 psd xcf ico jxl",
  video: "mp4 mkv mov avi webm m4v mpg mpeg ts mts m2ts wmv flv ogv 3gp mxf braw r3d",
  audio: "mp3 flac wav ogg opus m4a aac aif aiff wma mid midi",
  archive: "zip tar gz tgz bz2 xz zst 7z rar lz4 deb rpm jar apk",
  document: "pdf doc docx odt rtf ppt pptx odp key pages epub mobi tex ps eps",
  table: "xls xlsx ods csv tsv numbers parquet sqlite db",
  code:
    "rs c h cpp hpp cc cs go java kt swift py rb js mjs cjs tsx jsx svelte vue php sh bash zsh ps1 lua sql html htm css " +
    "scss json yaml yml toml xml proto gradle make cmake nix",
  text: "txt md rst log nfo srt vtt ini cfg conf",
  disk: "iso img dmg vhd vhdx vmdk qcow2 vdi",
};

const BY_ENDING = new Map<string, FileType>();
for (const type of Object.keys(ENDINGS) as FileType[]) {
  for (const ending of (ENDINGS[type] ?? "").split(" ")) BY_ENDING.set(ending, type);
}

export function fileType({ kind, name }: Pick<Entry, "kind" | "name">): FileType {
  if (kind === "folder") return "folder";
  if (kind === "symlink") return "link";
  const dot = name.lastIndexOf(".");
  if (dot <= 0) return "file";
  return BY_ENDING.get(name.slice(dot + 1).toLowerCase()) ?? "file";
}
