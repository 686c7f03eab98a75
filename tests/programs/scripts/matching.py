"""A detection transformer whose queries are matched to objects by the Hungarian method."""

import torch
import torch.nn.functional as F
from torch import nn, Tensor
from typing import Optional, List
import copy
from scipy.optimize import linear_sum_assignment


class NestedTensor(object):
    def __init__(self, tensors, mask: Optional[Tensor]):
        self.tensors = tensors
        self.mask = mask

    def decompose(self):
        return self.tensors, self.mask

    def __repr__(self):
        return str(self.tensors)


def nested_tensor_from_tensor_list(tensor_list: List[Tensor]):
    max_size = [max(s) for s in zip(*[t.shape for t in tensor_list])]
    batch_shape = [len(tensor_list)] + max_size
    b, c, h, w = batch_shape
    tensor = torch.zeros(batch_shape, dtype=tensor_list[0].dtype, device=tensor_list[0].device)
    mask = torch.ones((b, h, w), dtype=torch.bool, device=tensor.device)
    for img, pad_img, m in zip(tensor_list, tensor, mask):
        pad_img[: img.shape[0], : img.shape[1], : img.shape[2]].copy_(img)
        m[: img.shape[1], : img.shape[2]] = False
    return NestedTensor(tensor, mask)


class PositionEmbeddingSine(nn.Module):
    def __init__(self, num_pos_feats=16, temperature=10000):
        super().__init__()
        self.num_pos_feats = num_pos_feats
        self.temperature = temperature

    def forward(self, tl: NestedTensor):
        x, mask = tl.decompose()
        not_mask = ~mask
        y_embed = not_mask.cumsum(1, dtype=torch.float32)
        x_embed = not_mask.cumsum(2, dtype=torch.float32)
        dim_t = torch.arange(self.num_pos_feats, dtype=torch.float32, device=x.device)
        dim_t = self.temperature ** (2 * torch.div(dim_t, 2, rounding_mode="floor") / self.num_pos_feats)
        pos_x = x_embed[:, :, :, None] / dim_t
        pos_y = y_embed[:, :, :, None] / dim_t
        pos_x = torch.stack((pos_x[:, :, :, 0::2].sin(), pos_x[:, :, :, 1::2].cos()), dim=4).flatten(3)
        pos_y = torch.stack((pos_y[:, :, :, 0::2].sin(), pos_y[:, :, :, 1::2].cos()), dim=4).flatten(3)
        return torch.cat((pos_y, pos_x), dim=3).permute(0, 3, 1, 2)


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("weight", torch.ones(n))
        self.register_buffer("bias", torch.zeros(n))
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n))

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        k = prefix + "num_batches_tracked"
        if k in state_dict:
            del state_dict[k]
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, x):
        w = self.weight.reshape(1, -1, 1, 1)
        b = self.bias.reshape(1, -1, 1, 1)
        rv = self.running_var.reshape(1, -1, 1, 1)
        rm = self.running_mean.reshape(1, -1, 1, 1)
        scale = w * (rv + 1e-5).rsqrt()
        return x * scale + (b - rm * scale)


def box_cxcywh_to_xyxy(x):
    x_c, y_c, w, h = x.unbind(-1)
    return torch.stack([(x_c - 0.5 * w), (y_c - 0.5 * h), (x_c + 0.5 * w), (y_c + 0.5 * h)], dim=-1)


def box_iou(a, b):
    area1 = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area2 = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    union = area1[:, None] + area2 - inter
    return inter / union, union


def giou(a, b):
    assert (a[:, 2:] >= a[:, :2]).all()
    iou, union = box_iou(a, b)
    lt = torch.min(a[:, None, :2], b[:, :2])
    rb = torch.max(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    area = wh[:, :, 0] * wh[:, :, 1]
    return iou - (area - union) / area


class Matcher(nn.Module):
    @torch.no_grad()
    def forward(self, outputs, targets):
        bs, nq = outputs["pred_logits"].shape[:2]
        prob = outputs["pred_logits"].flatten(0, 1).softmax(-1)
        bbox = outputs["pred_boxes"].flatten(0, 1)
        ids = torch.cat([v["labels"] for v in targets])
        tb = torch.cat([v["boxes"] for v in targets])
        C = 5 * torch.cdist(bbox, tb, p=1) - prob[:, ids] - 2 * giou(box_cxcywh_to_xyxy(bbox), box_cxcywh_to_xyxy(tb))
        C = C.view(bs, nq, -1).cpu()
        sizes = [len(v["boxes"]) for v in targets]
        ind = [linear_sum_assignment(c[i]) for i, c in enumerate(C.split(sizes, -1))]
        return [(torch.as_tensor(i, dtype=torch.int64), torch.as_tensor(j, dtype=torch.int64)) for i, j in ind]


def _get_clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for i in range(N)])


class DETR(nn.Module):
    def __init__(self, d=32, nq=6, nc=4):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), FrozenBatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, d, 3, 2, 1)
        )
        self.pos = PositionEmbeddingSine(d // 2)
        self.layers = _get_clones(nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0), 2)
        self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(d, 4, 64, dropout=0.0), 2, nn.LayerNorm(d))
        self.query_embed = nn.Embedding(nq, d)
        self.class_embed = nn.Linear(d, nc + 1)
        self.bbox = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, s):
        x, m = s.decompose()
        f = self.backbone(x)
        mask = F.interpolate(m[None].float(), size=f.shape[-2:]).to(torch.bool)[0]
        pos = self.pos(NestedTensor(f, mask))
        src = (f + pos).flatten(2).permute(2, 0, 1)
        for l in self.layers:
            src = l(src, src_key_padding_mask=mask.flatten(1))
        q = self.query_embed.weight.unsqueeze(1).repeat(1, x.shape[0], 1)
        h = self.dec(q, src, memory_key_padding_mask=mask.flatten(1)).transpose(0, 1)
        return {"pred_logits": self.class_embed(h), "pred_boxes": self.bbox(h).sigmoid()}


torch.manual_seed(3)
model = DETR()
matcher = Matcher()
imgs = [torch.rand(3, 16, 20), torch.rand(3, 12, 24)]
targets = [
    {"labels": torch.tensor([1, 2]), "boxes": torch.rand(2, 4) * 0.4 + 0.2},
    {"labels": torch.tensor([0, 3, 1]), "boxes": torch.rand(3, 4) * 0.4 + 0.2},
]
param_dicts = [
    {"params": [p for n, p in model.named_parameters() if "backbone" not in n and p.requires_grad]},
    {"params": [p for n, p in model.named_parameters() if "backbone" in n and p.requires_grad], "lr": 1e-4},
]
opt = torch.optim.AdamW(param_dicts, lr=1e-3, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.StepLR(opt, 3)
w = torch.ones(5)
w[-1] = 0.1
for it in range(5):
    out = model(nested_tensor_from_tensor_list(imgs))
    ind = matcher(out, targets)
    bidx = torch.cat([torch.full_like(s, i) for i, (s, _) in enumerate(ind)])
    sidx = torch.cat([s for s, _ in ind])
    tco = torch.cat([t["labels"][j] for t, (_, j) in zip(targets, ind)])
    tc = torch.full(out["pred_logits"].shape[:2], 4, dtype=torch.int64)
    tc[bidx, sidx] = tco
    ce = F.cross_entropy(out["pred_logits"].transpose(1, 2), tc, w)
    sb = out["pred_boxes"][(bidx, sidx)]
    tb = torch.cat([t["boxes"][i] for t, (_, i) in zip(targets, ind)], dim=0)
    l1 = F.l1_loss(sb, tb, reduction="none").sum() / 5
    lg = (1 - torch.diag(giou(box_cxcywh_to_xyxy(sb), box_cxcywh_to_xyxy(tb)))).sum() / 5
    loss = ce + 5 * l1 + 2 * lg
    opt.zero_grad()
    loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    opt.step()
    sched.step()
    print(it, [i.tolist() for i, _ in ind], f"{loss.item():.4f} {ce.item():.4f} {gn.item():.4f}", sched.get_last_lr())
print(model.load_state_dict({**model.state_dict(), "backbone.1.num_batches_tracked": torch.tensor(1)}))
