"""Lines of code whose outcome with PyTorch is recorded in `tests/golden/lines.json`, grouped by the test file that runs them."""

RESHAPE = """
X.reshape(6,4)|X.reshape(-1)|X.reshape(4,-1,3)|X.reshape((2,12))|X.reshape(5,5)|X.reshape(-1,-1)|X.reshape(-2,12)
M.reshape(shape=(12,))
X.transpose(0,1).reshape(6,4)|X.transpose(0,1)[0].reshape(2,4)|X.transpose(1,2).reshape(2,12)|M.t().reshape(4,3)
M.t()[:, :1].reshape(4)
Z.reshape(1)|Z.reshape(())|M[:0].reshape(0,7)|M[:0].reshape(-1)|M[:0].reshape(-1,0)|M.reshape(3,'a')
torch.reshape(M,(2,6))
M.view(2,6)|M.view(12)|M.view((3,4))|M.view(5,5)|M.view(-1,-1)|M.view(-2,6)|M.t().view(-1)|M.view(3,4.5)
M.view(size=(12,))|M[:,1:].view(9)
M[1:].view(8)|M[1:].view(2,2,2)|M[:,::2].view(3,2,1)|M.view_as(X)|M.reshape_as(M.t())|M.view(torch.float32)
M.flatten()|Z.flatten()|M.t().flatten()|X.flatten(2,1)|X.flatten(1)|X.flatten(0,1)|X.flatten(-2)|X.flatten(5)
torch.flatten(M,0,1)|X.flatten(1,1)
X.unflatten(2,(2,2))|X.unflatten(2,(3,2))|X.unflatten(2,(-1,2))|X.unflatten(-1,(2,-1))|M.ravel()|V.ravel()
M.t().ravel()
X.squeeze()|M[None].squeeze(0)|M[None].squeeze()|M[None].squeeze((0,1))|M[None].squeeze(7)|M.squeeze(0)|Z.squeeze()
Z.squeeze(0)|M[None,:,None].squeeze((0,2))
M.unsqueeze(0)|M.unsqueeze(-1)|M.unsqueeze(1)|M.unsqueeze(4)|M.t().unsqueeze(1)|Z.unsqueeze(0)|M.unsqueeze(dim=-3)
M[None].squeeze(axis=0)
"""
PERMUTE = """
M.T|V.T|X.T|X.mT|M.t()|V.t()|Z.t()|X.t()|M.H|M.adjoint()|X.adjoint()|X.mH|V.mT|X.H|Z.T
X.permute(2,0,1)|X.permute((1,0,2))|X.permute(-1,0,1)|X.permute(0,1)|X.permute(0,0,1)|X.permute(0,1,7)
torch.permute(X,dims=(2,1,0))
X.transpose(0,2)|X.transpose(-1,0)|X.transpose(0,5)|X.swapaxes(0,1)|X.swapdims(0,1)
torch.swapaxes(X,axis0=0,axis1=1)|Z.transpose(0,0)
X.movedim(0,2)|X.movedim((0,1),(1,0))|X.movedim((0,1),(1,))|X.movedim((0,0),(1,2))|X.movedim(0,5)|X.moveaxis(0,-1)
"""
BROADCAST = """
M.expand(2,3,4)|M.expand(-1,-1)|M.expand(-1,3,4)|M.expand(3)|M.expand(5,4)|M.expand(2,-1,4)|Z.expand(3)
M.expand(size=(2,3,4))|M[:,:1].expand(3,5)
M.expand_as(X)|M.broadcast_to((2,3,4))|torch.broadcast_tensors(M,V[:4])|torch.broadcast_tensors(M,V)
torch.broadcast_to(V,(2,5))
torch.meshgrid(V,V[:2],indexing='ij')|torch.meshgrid(V,V[:2],indexing='xy')|torch.meshgrid(V,V,indexing='ab')
torch.atleast_1d(Z)|torch.atleast_2d(V)|torch.atleast_3d(V)|torch.atleast_3d(M)|torch.atleast_2d(Z,V)
"""
WINDOWS = """
M.narrow(0,1,2)|M.narrow(0,2,2)|M.narrow(0,-1,1)|M.narrow(0,5,1)|M.narrow(0,0,-1)|Z.narrow(0,0,1)|M.narrow(-1,1,3)
M.narrow(0,torch.tensor(1),1)
M.select(0,1)|M.select(-1,-1)|M.select(0,5)|Z.select(0,0)|X.select(1,2)
M.diagonal()|M.diagonal(1)|M.diagonal(-2)|M.diagonal(9)|X.diagonal(0,1,2)|X.diagonal(1,0,2)|X.diagonal(0,1,1)
V.diagonal()|M.t().diagonal()
M.diag()|V.diag()|V.diag(1)|V.diag(-2)|X.diag()|V.diag_embed()|M.diag_embed(1)|M.diag_embed(-1,0,2)
M.diag_embed(0,1,1)|torch.diagflat(M[:2,:2])
M.unfold(1,2,1)|M.unfold(1,2,2)|X.unfold(1,2,1)|M.unfold(1,5,1)|M.unfold(1,2,0)|M.unfold(1,-1,1)|Z.unfold(0,1,1)
M.unfold(0,0,1)
M.as_strided((2,2),(1,2))|M.as_strided((2,2),(1,2),1)|M.as_strided((20,),(1,))|M.as_strided((2,),(1,2))
M.as_strided((3,),(-1,))|M.as_strided((3,3),(0,1))|M.t().as_strided((5,),(2,))
M.split(2)|M.split(2,1)|M.split([1,2])|M.split([1,1])|M.split(-1)|M.split(0)|Z.split(1)|M.split(2,5)
M.split(split_size=2)|M.split_with_sizes([1,2])|torch.split(M,3,dim=1)|M[:0].split(2)
M.chunk(2)|M.chunk(0)|M.chunk(2,1)|M.chunk(9)|M.tensor_split(2)|M.tensor_split((1,))|M.tensor_split((2,1))
M.tensor_split(0)|M.tensor_split(5,1)|M.tensor_split((-1,9),1)
M.unbind()|M.unbind(1)|Z.unbind()|X.unbind(-1)|torch.hsplit(M,2)|torch.hsplit(M,3)|torch.vsplit(M,3)
torch.vsplit(V,1)|torch.dsplit(M,2)|torch.dsplit(X,2)|torch.hsplit(V,(2,))
"""
JOIN = """
torch.cat([M,M])|torch.cat([M,M],1)|torch.cat([M,V])|torch.cat([M,M[:2]],1)|torch.cat([])
torch.cat([M,torch.zeros(0)])|torch.cat([Z,Z])|torch.cat([M,M],5)|torch.cat(M)|torch.cat([m,m.long()])
torch.cat([m>3,m.int()])|torch.cat((M,M),axis=0)|torch.concat([M,M],axis=1)|torch.concatenate([M,M])
torch.cat(tensors=[M,M],dim=-1)|torch.cat([M,M[:0]])
torch.stack([M,M])|torch.stack([M,V])|torch.stack([])|torch.stack([M,M],-1)|torch.stack([M,M],5)|torch.stack([Z,Z])
torch.stack(tensors=[M,M],dim=1)
torch.hstack([M,M])|torch.hstack([V,V])|torch.vstack([V,V])|torch.dstack([M,M])|torch.column_stack([V,V])
torch.row_stack([V,V])
torch.block_diag(M,V,Z)|torch.block_diag(X)|torch.cartesian_prod(V[:2],V[:3])|torch.cartesian_prod(V)
torch.combinations(V[:4])|torch.combinations(V[:3],3,True)|torch.combinations(M)
"""
ARRANGE = """
M.repeat(2,1)|M.repeat(2)|M.repeat(2,1,1)|M.repeat(-1,1)|M.repeat(0,1)|Z.repeat(3)|M.tile(2)|M.tile(2,1,1)
M.tile((2,))|torch.tile(V,(2,))
M.repeat_interleave(2)|M.repeat_interleave(2,0)|M.repeat_interleave(torch.tensor([1,2,3]),0)
M.repeat_interleave(torch.tensor([1,2]),0)|torch.repeat_interleave(torch.tensor([1,0,2]))|M.repeat_interleave(-1)
M.flip(0)|M.flip((0,1))|M.flip(0,0)|M.fliplr()|V.fliplr()|M.flipud()|X.flip(-1)
M.roll(1)|M.roll(1,0)|M.roll((1,2),(0,1))|M.roll((1,2),0)|M.roll(-5,1)|M.rot90()|M.rot90(2)|M.rot90(-1)
M.rot90(1,(0,0))|V.rot90()
M.tril()|M.triu(1)|V.tril()|X.tril(-1)|M.tril(diagonal=1)|m.tril_()|torch.tril_indices(3,3)
torch.triu_indices(3,4,1)|torch.tril_indices(2,3,-1)
M.contiguous()|M.t().contiguous()|M.t().contiguous().is_contiguous()|M.clone()
X[None].contiguous(memory_format=torch.channels_last).tolist()
X[None].contiguous(memory_format=torch.channels_last).stride()
M.is_contiguous()|M.t().is_contiguous()|M[:,1:].is_contiguous()|M[1:].is_contiguous()|M[:,:1].is_contiguous()
X[None].contiguous(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
"""
READ = """
M[0]|M[0,1]|M[1:2]|M[:]|M[...]|M[None]|M[:,None]|M[0,1:]|M[1:,0]|M[True]|M[False]|M[()]|M[...,0]|M[...,...]
M[0,...,None,1]|M[-1]|M[-1,-2]
M[[0,1]]|M[[0,1],[1,2]]|M[[[0,1],[1,0]]]|M[[slice(0,1),0]]|M[torch.tensor(1)]|M[torch.tensor(-1)]
M[torch.tensor([1],dtype=torch.int16)]|M[torch.tensor([1],dtype=torch.int32)]
M[torch.tensor([1],dtype=torch.uint8)]|M[torch.tensor([1,0,1],dtype=torch.uint8)]|M[1.0]|M['a']|M[5]|M[-4]|M[0,9]
M[0,0,0]|M[torch.tensor([3])]|M[torch.tensor([-4])]|M[torch.tensor([-1])]
M[[1,5]]|M[:,[0,7]]|M[[0,1],[0,7]]|M[::-1]|M[::0]|M[torch.tensor([True,False])]|M[torch.tensor([[True,False]])]
M[[0,1],[0,1,2]]|M[torch.tensor([1.])]|M[0][0][0]|Z[0]|Z[:]|Z[None]|Z[...]|Z[()]
M[[],]|M[[]]|M[:,True]|M[torch.tensor(True)]|M[torch.tensor(False)]|M[0,[1,2]]|M[[1,2],0]|M[None,[0,1],:,None]
M[1:1]|M[5:9]|M[2:1]|M[:-1]|M[::2,1::2]|M[torch.tensor(2):]|M[:torch.tensor(2)]|M[-2:]
M[m>5]|M[range(2)]|M[(0,1),]|M[{1}]|M[m>5,0]|M[:,m[0]>1]|M[m[:,0]>1,1]|M[m[:,0]>1,[1]]
M[torch.zeros(0,dtype=torch.long)]|torch.zeros(0,3)[torch.tensor([0])]|torch.zeros(0,3)[0]
M['a',0]|M[object()]|M[0.5:]|M[None,None,0]|M[torch.tensor(5)]|M[i]|M[m.long()%3]|M[i%3]|M[i%3,i%4]|X[:,i%3]
X[i%2,:,i%4]|X[0,i%3]|X[i%2,1]|X[i%2,None,i%3]|X[:,[0,2],[1,3]]|X[[0,1],:,[1,3]]|X[...,[0,1]]
X[x>7]|X[x[:,:,0]>7]|X[:,x[0]>7]|X[x[:,:,0]>7,1]|X[x[:,0,0]>7]|X[x[:,0,0]>7,:,[1,2,3]]|X[1,x[0]>7]|X[i%2,:,:][...,0]
X[torch.tensor([[0]]),torch.tensor([1,2])]
"""
WRITE = """
m[0]=1|m[0]+=1|m[[0,1]]+=1|m[0]=torch.ones(3)|m[0]=torch.ones(1,4)|m[0]=torch.ones(2,4)|m[:]=torch.ones(1,1,3,4)
m[0]=[1,2,3,4]|m[m>5]=0|m[m>5]=torch.tensor(1)|m[m>5]=torch.tensor(1.)
m[m>5]=torch.ones(6)|m[m>5]=torch.ones(5)|m[m>5]=torch.ones(1)|m[[0,1]]=torch.ones(2,4,dtype=torch.long)|m[[0,1]]=5
m[0]=1j|m[0]=torch.tensor(1j)|m[[0,1]]=torch.ones(3,4)|m[m>5]=torch.ones(1,6)
m[[0,1]]=torch.ones(1,2,4)|m[0,0]=torch.ones(2)|m[[0,0]]=torch.tensor([[1.],[2.]])|m[5]=1|m[[5]]=1|m[None]=1
m[True]=1|m[False]=1|m[...]=torch.tensor(2)|m['a']=1|m[0]='a'|m[0]=None|m[[0,1]]=[1,2]
m[m>100]=torch.ones(0)|m[m>100]=torch.ones(1)|m[m>100]=torch.ones(2)|m[0]=nan|m[m>3]=torch.ones(8,1)
m[torch.tensor([True,False,True])]=torch.ones(2,1)|m[1:1]=5|m[1:1]=torch.ones(2)|m[torch.tensor(1)]=5
m[[1],[2]]=True|m[::2]=torch.tensor([[1],[2]])|m[:,::3]=torch.tensor([5.,6.])|m[1:,1:3]=torch.tensor([[5.],[6.]])
m.t()[0]=7|m.t()[1:3,0]=7|m.diagonal()[:]=9|m.view(-1)[3:5]=9|m.t()[[0,1]]=8|m[1][2:]=6
i[0]=7|i[0]=2.7|i[0,0]=inf|i[i>4]=0|i[0]=torch.tensor([1.5,2.5,3.5])|i[i==5]=torch.tensor([8,9])
i[:,[0,2]]=torch.tensor([[1],[2]])|i[i>100]=3
M[0]=1|M[0]+=1|M[0]*=M[1]|M[[0,1]]=5|M[[0,2]]=M[[1,1]]|M[m>5]=0|M[m>5]=M[m<6]|M[m>5]=V[0]|M[m[:,0]>1]=V[:4]
M[:,1]=V[:3]|M.t()[0]=V[:3]|M.view(-1)[2:7]=V|M[1:,::2]=V[:2]|M[0]=Z|M[[0,0]]=M[[1,2]]|M[i%3,0]=2
m[0]=V[:4]; m|m[[0,1]]=V[:4]; m|m[m>5]=V[0]; m|M_leaf[0]=1|M_leaf[[0]]=1|M_leaf[m>5]=1|m[0]=m[1]; m|m[:2]=m[1:]; m
m[1:]=m[:2]; m|x[:,0]=m[:2]; x|x[...,1]=m[0,:3]; x|x[0]=m; x|x[1,1:]=z; x
"""
PICK = """
M.gather(1,torch.tensor([[0,1]]))|M.gather(1,torch.tensor([[0,9]]))|M.gather(1,torch.tensor([[0,-1]]))
M.gather(1,torch.tensor([0]))|M.gather(1,torch.tensor([[0]]*5))|M.gather(1,torch.tensor([[0.]]))
M.gather(0,torch.tensor([[0,1,2,0],[1,1,1,1]]))|M.gather(1,i[:,:0])|Z.gather(0,torch.tensor([0]))
M.scatter(1,torch.tensor([[0,1]]),5.)|M.scatter(1,torch.tensor([[0,1]]),M[:1,:2])
M.scatter(1,torch.tensor([[0,9]]),5.)|m.scatter(1,torch.tensor([[0,0]]),m,reduce='add')
m.scatter(1,torch.tensor([[0,0]]),m,reduce='multiply')|m.scatter(1,torch.tensor([[0,0]]),m,reduce='x')
M.scatter(1,torch.tensor([[0]]*5),M)|M.scatter(1,torch.tensor([[0]]),M[:0])
M.scatter(1,torch.tensor([[0]]),m.long())|M.scatter(1,torch.tensor([[2,2]]),M[1:2,:2])
m.scatter_(1,torch.tensor([[0,1]]),value=5)|m.scatter_(0,torch.tensor([[1,1,1,1]]),1.); m
M.scatter_add(1,torch.tensor([[0,0]]),M[:1,:2])|M.scatter_add(1,torch.tensor([[7]]),M)
m.scatter_add_(0,torch.tensor([[0,1,2,0]]),v[None,:4])
M.scatter_reduce(1,torch.tensor([[0,0]]),M[:1,1:3],'sum')|M.scatter_reduce(1,torch.tensor([[0,0]]),M[:1,1:3],'prod')
M.scatter_reduce(1,torch.tensor([[0,0]]),M[:1,1:3],'mean')
M.scatter_reduce(1,torch.tensor([[0,0]]),M[:1,1:3],'amax')
M.scatter_reduce(1,torch.tensor([[0,0]]),M[:1,1:3],'amin',include_self=False)
m.scatter_reduce(1,torch.tensor([[0,0]]),m,'x')
M.index_select(0,torch.tensor([3]))|M.index_select(0,torch.tensor([-1]))|M.index_select(0,torch.tensor([[0]]))
M.index_select(0,torch.tensor(1))|M.index_select(0,torch.tensor([1.]))
M.index_select(1,torch.tensor([1,1],dtype=torch.int32))|M.index_select(3,torch.tensor([0]))
M.index_add(0,torch.tensor([0,0]),M[:2])|M.index_add(0,torch.tensor([5]),M[:1])
M.index_add(0,torch.tensor([0]),M[:2])|M.index_add(0,torch.tensor([0]),M[:1,:2])
M.index_add(0,torch.tensor([0]),m[:1].long())|M.index_add(1,torch.tensor([0,3]),M[:,:2],alpha=2)
M.index_copy(0,torch.tensor([0]),M[1:2])|M.index_copy(0,torch.tensor([5]),M[1:2])
M.index_copy(0,torch.tensor([0]),M[1:3])|M.index_fill(0,torch.tensor([0]),7)|M.index_fill(0,torch.tensor([-1]),7)
M.index_fill(0,torch.tensor([5]),7)|M.index_fill(0,torch.tensor([0,0]),Z)|M.index_fill(0,torch.tensor([0]),V[:1])
M.index_put((torch.tensor([0]),),Z)|M.index_put((torch.tensor([0,0]),torch.tensor([1,1])),V[:2],accumulate=True)
M.index_put((torch.tensor([9]),),Z)|M.index_put((m>5,),Z)
m.index_put_((torch.tensor([1]),torch.tensor([1])),torch.tensor([5.]))
M.index_put((torch.tensor([0]),),torch.tensor(1))
M.take(torch.tensor([1,2]))|M.take(torch.tensor([12]))|M.take(torch.tensor([-1]))|M.take(torch.tensor([1.]))
torch.take_along_dim(M,torch.tensor([[0]]),1)|torch.take_along_dim(M,torch.tensor([0]))
m.put_(torch.tensor([1,1]),torch.tensor([2.,3.]))|m.put_(torch.tensor([1,1]),torch.tensor([2.,3.]),True)
m.put_(torch.tensor([99]),torch.tensor([2.]))
M.masked_fill(m>5,2)|M.masked_fill(m>5,Z)|M.masked_fill(m>5,V[:1])|M.masked_fill(m,2)|M.masked_fill(m[0]>2,2)
i.masked_fill(i>4,2.5)|i.masked_fill(i>4,inf)|m.masked_fill_(m>5,0)|m.masked_fill(m>5,1j)|V.masked_fill(m[:,:1]>3,0)
M.masked_scatter(m>9,V)|M.masked_scatter(m>2,V)|M.masked_scatter(m>9,torch.tensor([1,2]))
m.masked_scatter_(m[0]>2,v)|M.masked_select(m>9)|M.masked_select(m[0]>2)|M.masked_select(m)
m.nonzero()|[c.tolist() for c in m.nonzero(as_tuple=True)]|torch.nonzero(m>9)|z.nonzero()
z.nonzero(as_tuple=True)[0].tolist()|torch.argwhere(m>9)|[c.tolist() for c in torch.where(m>9)]|(m*0).nonzero()
torch.unique(i)|torch.unique(i,return_inverse=True,return_counts=True)
torch.unique(i,dim=1,return_inverse=True,return_counts=True)
torch.unique_consecutive(i,return_inverse=True,return_counts=True)|torch.unique(torch.tensor([nan,1.,nan]))
i.unique(sorted=False)|torch.unique_consecutive(i,dim=0)
torch.bincount(i[0])|torch.bincount(i[0],v[:3],8)|torch.bincount(torch.tensor([-1]))|torch.bincount(v)
torch.bincount(i)|torch.histc(m,4)|torch.histc(m,4,0,5)|torch.histc(i,4)|torch.histc(m,0)|torch.histc(m,3,5,1)
torch.bucketize(i,torch.tensor([1,3,5]))|torch.bucketize(i,torch.tensor([1,3,5]),right=True)
torch.searchsorted(torch.tensor([1.,3.,5.]),m,side='right')|torch.searchsorted(m,m[:2])
torch.searchsorted(torch.tensor([1,3]),2)|torch.bucketize(3,torch.tensor([1,3,5]),out_int32=True)
torch.bucketize(v,m)|torch.searchsorted(v,v,right=True,side='left')
"""
ORDER = """
V.sort()|V.sort(descending=True)|M.sort(0)|M.sort(0,True)|V.sort(stable=True)|V.sort(3)|i.sort()|Z.sort()
V.sort(dim=0,descending=True,stable=True)|torch.sort(torch.tensor([nan,1.,-inf,inf,nan,0.,-0.]))
torch.sort(torch.tensor([nan,1.,-inf,inf]),descending=True)
V.argsort()|V.argsort(descending=True)|M.argsort(0)|M.msort()|torch.sort(torch.tensor([True,False,True]))
torch.sort(torch.tensor([1j]))
V.topk(2)|V.topk(2,largest=False)|M.topk(2,0)|V.topk(6)|V.topk(0)|V.topk(-1)|i.topk(1)|Z.topk(1)
torch.topk(torch.tensor([1.,nan,2.]),2)|torch.topk(torch.tensor([1.,nan,2.]),2,largest=False)
V.kthvalue(1)|V.kthvalue(5)|M.kthvalue(2,0)|M.kthvalue(2,0,True)|V.kthvalue(6)|V.kthvalue(0)|Z.kthvalue(1)
V.median()|V.median(0)|M.median(1)|M.median(0,True)|M.median()|torch.tensor([1.,nan,2.]).median()
torch.tensor([1.,nan,2.]).median(0)|torch.tensor([1.,nan,2.]).nanmedian()|torch.tensor([1.,nan,2.]).nanmedian(0)
torch.zeros(0).median()|torch.zeros(0,2).median(0)|i.median()|Z.median()|torch.tensor([nan,nan]).nanmedian()
V.mode()|i.mode()|i.mode(0)|M.mode(0,True)|torch.tensor([2,1,2,1]).mode()|Z.mode()|torch.zeros(0,2).mode(0)
V.cummax(0)|V.cummin(0)|i.cummax(1)|torch.tensor([1.,nan,3.,2.]).cummax(0)|torch.tensor([1.,nan,0.,nan]).cummin(0)
M.cummax(3)|Z.cummax(0)|torch.tensor([2.,2.,1.,2.]).cummax(0)
V.cumsum(0)|M.cumsum(0)|M.cumsum(1)|i.cumsum(1)|(i>3).cumsum(0)|M.cumsum(0,dtype=torch.float64)|M.cumsum(3)
m.cumsum_(0)|Z.cumsum(0)|V.cumprod(0)|M.cumprod(0)|i.cumprod(1)|(V-1).cumprod(0)|V.logcumsumexp(0)|i.logcumsumexp(0)
V.diff()|M.diff()|M.diff(2)|M.diff(dim=0)|i.diff()|(i>3).diff()|Z.diff()|V.diff(prepend=V[:1])|V.diff(append=V[:2])
V.diff(-1)|V.diff(9)
str(v.sort())|str(M.max(0)) if False else str(v.topk(2))|str(v.median(0))|str(v.cummax(0))
"""
VIEWS = """
a=m[1]; a.add_(1); m|a=m.t(); a[0].mul_(2); m|a=m.view(-1); b=m[1]; a.zero_(); b|a=m[1:]; b=a[:,1]; b.fill_(5); a
a=m.diagonal(); a.mul_(2); m|a=m.unfold(1,2,2); a.add_(1); m|m.expand(2,3,4).add_(1)
m[:,::2].add_(1); m|x[:,1].t().add_(m[:2].t()); x|x.transpose(0,2)[1:3,:,0].mul_(2); x
x.permute(2,0,1)[::2].zero_(); x|x[1,:,1:3].view(3,2).add_(1)|x[1].view(2,6)[1].add_(1); x|x.unbind(1)[1].add_(1); x
x.split(2,1)[1].mul_(0); x|x.as_strided((3,),(5,),2).add_(9); x
a=m[0]; a._base is m|m.t().t()._base is m|m[0]._is_view()|m[[0]]._is_view()|m.clone()._is_view()
m.detach()._is_view()|m._base is None|m[0].is_set_to(m[0])|m[0].is_set_to(m[1])|m.view(-1).data_ptr()==m.data_ptr()
m[1].data_ptr()-m.data_ptr()
a=m[0]; m._version|a=m[0]; a.add_(1); m._version|a=m[0]; m.add_(1); a._version|a=m.detach(); a.add_(1); m._version
a=m.data; a.add_(1); m._version|a=m[0]; b=m[1]; a.add_(1); b._version|m.unsqueeze_(0); m._version|m.t_(); m._version
m[0].stride()|m[:,1].stride()|m[:,1].storage_offset()|m.t()[1:,::2].stride()|m.t()[1:,::2].storage_offset()
x.permute(2,0,1).stride()|x[:,None].stride()|x[...,None].stride()|m.expand(2,3,4).stride()
x[1:,1,2:].storage_offset()|m.stride(0)|m.stride(-1)|m.stride(5)|m[2:2].storage_offset()|m[5:9].storage_offset()
M[0].add_(1)|M[0].mul_(2); M|a=M[0]; a.mul_(2); a|a=M[0]; M.mul_(2); a|a=M[0]; M.mul_(2); a.mul_(3); M
a=M.t(); a[0].mul_(V[:3]); M|a=M[1:]; b=a[:,1]; b.mul_(V[:2]); a|a=M.view(-1); M[0].mul_(2); a
a=M.view(-1); b=M[0]; b.mul_(2); a.mul_(3); b
M.diagonal().mul_(2); M|M.unbind(0)[0].mul_(2)|M.split(2)[0].add_(1)|M.chunk(2)[0].add_(1)
M.unbind(0)[0].detach().mul_(2); M|M_leaf[0].add_(1)|M_leaf.view(-1).add_(1)|M_leaf.add_(1)
M_leaf.detach().add_(1); M_leaf|M_leaf.data[0]=5; M_leaf|M_leaf.unsqueeze_(0)|M_leaf.t_()
a=m[0]; a.mul_(V[:4]); m|a=m.t(); a.add_(M.t()); m|a=m[0]; m.mul_(M); a|a=m[1]; b=m[0]; a.mul_(V[:4]); b
a=m.detach(); a.mul_(M); m|a=m[0].detach(); a.mul_(V[:4]); a|a=m[0].detach(); a.mul_(V[:4]); m.requires_grad
M[1:1].t().is_contiguous()|M[:0,::2].is_contiguous()|X.permute(2,1,0)[:0].view(-1)|X[:0,:,None].permute(0,2,3,1).is_contiguous(memory_format=torch.channels_last)
m.squeeze_(); m|m.unsqueeze_(1); m|m.t_(); m|m.transpose_(0,1); m|m.swapaxes_(0,1); m|m.unsqueeze_(0).squeeze_(0); m
m.t_(); m.is_contiguous()|m.t_(); m[0]=5; m|a=m.t(); a.unsqueeze_(0); a[0,0]=5; m|M.unsqueeze_(0)|M.t_(); M.mul_(2)
M.transpose_(0,1)|M[None].squeeze_((0,))|M[None].squeeze_()|M.exp_()|M.exp_(); M.add_(1)|M.mul_(M)|M[0].mul_(M[0])
M[0].exp_(); M|M.sigmoid_(); M[0]=0; M|M.squeeze_(0)
m.resize_(2,2)|m.resize_(2,2); m|m.resize_(12); m|m.resize_(3,4); m|M.resize_(2)|a=m[1]; a.resize_(2); a
n=m*1; a=torch.zeros(0); a.set_(n); a[0]=9; n.tolist()|n=m*1; a=torch.zeros(0); a.set_(n[1]); a.storage_offset()
m.set_(); m.shape|m.set_(i)
w=M*M; M[0]=0; w.sum().backward()|w=M.exp(); w[0]=0; w.sum().backward()
"""

SHARED_PLACES = """
m.unfold(0,2,1)[0].fill_(7)|m.unfold(0,2,1)[1].add_(7)|m.unfold(1,2,1)[:,0].mul_(3)|m.t().unfold(1,2,1)[:,0].add_(100)
m.unfold(0,3,1)[0].add_(1)|m.unfold(0,2,1)[0,1:].add_(1)|m.unfold(0,2,1)[...,1].add_(1)|m.unfold(1,2,1)[0][1].zero_()
m.unfold(0,2,1)[0].copy_(torch.arange(8.).view(4,2))|m.unfold(0,2,2)[0].add_(1)|x.unfold(1,2,1)[0,1].add_(1)
m.unfold(0,2,1)[0]=torch.arange(8.).view(4,2)|m.unfold(1,3,1)[:,1]=7|m.expand(2,3,4)[0].fill_(7)|m[None].expand(2,3,4)[1,1].add_(5)
m.view(2,6).unfold(1,4,2)[:,1].add_(1)|v.as_strided((3,3),(1,1))[1].add_(7)|m.unfold(1,2,1).transpose(1,2)[0,0].add_(9)
m.unfold(0,2,1).unfold(1,2,1)[0,1].add_(1)|m.unfold(0,2,1)[0].unfold(0,2,1)[1].mul_(2)
M.unfold(0,2,1)[1].mul_(3); M|M.view(2,6).unfold(1,4,2)[:,1].mul_(3); M|M.unfold(1,2,1)[:,0].mul_(m.t()[:2].t()); M
M.unfold(1,2,1)[0].copy_(X[0,:,:2]); M|M.unfold(1,2,1)[0]+=X[0,:,:2]; M|M.expand(2,3,4)[0].mul_(2); M
v.unfold(0,3,1).add_(1)|v.unfold(0,3,1).mul_(2)|v.unfold(0,3,1).copy_(m[:,:3])|v.unfold(0,3,1).add_(m[:,:3])|v.unfold(0,2,1).relu_()
v.unfold(0,3,1).masked_fill_(m[:,:3]>4,9)|v.unfold(0,3,1)[torch.tensor([True,False,False])]=7|v.unfold(0,3,1)[torch.tensor([0,2])]=m[:2,:3]
v.unfold(0,3,1).index_fill_(0,torch.tensor([1]),5)|v.unfold(0,3,1).index_add_(0,torch.tensor([1]),m[:1,:3])|v.unfold(0,3,1).gt_(2)
v.unfold(0,3,1).scatter_(0,torch.tensor([[0,1,2]]),5.)|v.unfold(0,3,1).index_put_((torch.tensor([0]),),z,accumulate=True)
v.unfold(0,3,1).put_(torch.tensor([1]),torch.tensor([9.]))|v.unfold(0,3,1).fill_(z)|v.unfold(0,3,1).zero_()
V.unfold(0,3,1).mul_(3); V|V.unfold(0,3,1).mul_(M[:,:3]); V|V.unfold(0,3,1).copy_(M[:,:3]); V|V.unfold(0,3,1).add_(M[:,:3]); V
V.unfold(0,3,1).masked_fill_(m[:,:3]>4,4); V|V.unfold(0,3,1)[torch.tensor([True,False,True])]=M[:1,:3]; V|V.unfold(0,3,1).pow_(2); V
v[:1].expand(3).masked_fill_(torch.tensor([True,False,True]),2)|v[:1].expand(3)[torch.tensor([0])]=3.|v[:1].expand(3).fill_(2)
v[:1].expand(3).index_fill_(0,torch.tensor([0]),3.)|v[:1].expand(3).add_(1)|v[:1].expand(3).copy_(m[:,0])|v[:1].expand(3)[1]=4
v[:1].expand(3).scatter_(0,torch.tensor([0]),3.)|v[:1].expand(3).cumsum_(0)|v[:0,None].expand(0,3).add_(1)
torch.add(m,1,out=x.view(-1)[:8].as_strided((3,4),(2,1)))|torch.ones(3,3,out=v.unfold(0,3,1))|torch.ones(3,out=v[:1].expand(3))
m[1]=m[1][0]|m[1]=m[1,0]|v[1:4]=v[2]|m[1:]=m[0]|m[:]=m[1]|v.copy_(v[1])|v.add_(v[1])|m[:,1:]=m[:,:1]|m[1:]=m[2]|m[1:]=m[:2]|v[1:4]=v[:3]
"""
COUNTED = """
torch.linspace(0,3,4,out=m[1:,2:])|torch.linspace(0,3,4,out=m[::2,::2])|torch.arange(4,out=m[1:,2:])|torch.arange(0.,4,out=m.t()[:2,:2])
torch.range(0,3,out=m[1:,2:])|torch.logspace(0,3,4,out=m[1:,2:])|torch.linspace(0,3,4,out=v[1:])|torch.arange(5,out=v)|torch.arange(4,out=m[0])
torch.eye(2,out=m[1:,2:])|torch.full((2,2),5.,out=m[1:,2:])|torch.linspace(0,3,12,out=m)|torch.arange(12,out=m)|torch.ones(2,2,out=m[1:,2:])
torch.linspace(0,3,3,out=v[::2])|torch.arange(3,out=v[:1].expand(3))|torch.arange(9,out=v.unfold(0,3,1))
"""
RANGES = """
torch.linspace(-0.9,9.9,7,dtype=torch.int64)|torch.linspace(-3,4,5,dtype=torch.uint8)|torch.linspace(2.9,-3.9,4,dtype=torch.int8)
torch.linspace(2**30+1,2**30+9,9,dtype=torch.int32)|torch.linspace(0,300,5,dtype=torch.uint8)
torch.linspace(0.,inf,4,dtype=torch.int32)|torch.linspace(0,1e39,3)|torch.linspace(0,1e6,3,dtype=torch.half)
torch.linspace(-4.3,5.1,50,dtype=torch.bfloat16)|torch.linspace(-4.3,5.1,50,dtype=torch.half)
torch.linspace(z*0.3,z,300,dtype=torch.bfloat16)
torch.logspace(.9,2.9,5,dtype=torch.int64)|torch.logspace(-1.5,2.7,4,dtype=torch.int8)|torch.logspace(0,9,5,base=2,dtype=torch.int32)
torch.logspace(.9,2.9,1,dtype=torch.int64)|torch.logspace(4.3,0,1,dtype=torch.bfloat16)|torch.logspace(1+1j,0,1)|torch.logspace(-1,1.3,30,dtype=torch.bfloat16)|torch.logspace(0,1e20,3,dtype=torch.int64)
torch.arange(-8.95,6.43,1.5,dtype=torch.int64)|torch.arange(-3.6,-1.4,dtype=torch.int64)|torch.arange(0,5,.5,dtype=torch.int64)
torch.arange(4.1,0.8,-0.9,dtype=torch.int32)|torch.arange(0,5,.5,dtype=torch.int16)|torch.arange(0,1e20,dtype=torch.int64)
torch.arange(0,1e20,dtype=torch.int32)|torch.arange(0,5,-1,dtype=torch.bool)|torch.arange(0,nan,dtype=torch.int64)
torch.range(8.6,4.4,-2,dtype=torch.uint8)|torch.range(-7,8,1.5,dtype=torch.int64)|torch.range(7.1,7.9,-1,dtype=torch.int32)
torch.range(inf,1,dtype=torch.int32)|torch.range(inf,1)
"""
# Ints of 64 bits and more: none beyond uint64 is taken, and those beyond int64 count as uint64.
WIDE = """
i+2**64|i*-(2**63)-1|m*2**64|v/-2**65|torch.full((1,),2**64)|i.fill_(2**64)|m.masked_fill(m>3,-2**64)|i==2**64
torch.add(m,m,alpha=2**64)|torch.where(m>3,m,2**64)|2**64-i|i.clamp(max=2**64)|torch.float_power(i,2**64)
torch.scalar_tensor(2**64)|torch.bucketize(2**64,v)|torch.isin(i,2**64)|torch.lerp(m,m,2**64)|torch.result_type(i,2**64)
m.masked_fill(m>3,2**63)|torch.add(m,m,alpha=2**63)|torch.addcmul(m,m,m,value=2**63)|m.scatter(0,i[:1],2**63)
v.index_fill(0,i[0],2**63)|torch.where(m>3,m,2**63)|torch.where(i>1,i,2**63)|(m.bfloat16()+2**63)
(i>1)+2**63|(i>1)==2**63|torch.where(i>1,i>1,2**63)|torch.result_type(i>1,2**63)|torch.result_type(i,2**63)|i+2**63
torch.add(m,m,alpha=2**64-1)|torch.addcmul(i,i,i,value=2**63)|torch.isin(i,2**63)|torch.isin(v,2**63)
torch.bucketize(2**63,v)|torch.bucketize(2**63,i[0])|i.to(torch.uint8)**2**63|i**2**63
i.__setitem__(0,2**63)|m.__setitem__(0,2**63)|m.__setitem__(0,-2**63-1)|v.__setitem__(0,2**63-1)|i.__setitem__(m>3,2**64)
v.__setitem__(0,np.float32(3))|v.__setitem__(0,np.float64(3))|v.__setitem__(0,np.bool_(True))|v.__setitem__(0,np.int8(3))
torch.where(i>1,i.to(torch.int8),300)|torch.where(i>1,-300,i.to(torch.int8))|torch.where(i>1,i.to(torch.uint8),-1)
torch.where(m>3,m,1e300)|torch.where(m>3,m.half(),1e6)|torch.where(m>3,m.half(),-1e300)|torch.where(i>1,i.int(),2.5)
torch.where(m>3,2**63,1)|torch.where(m>3,2**63,1.5)|torch.where(m>3,1e300,1.5)
"""
# Powers of integers wrap around, whatever the exponent.
INTEGER_POWERS = """
i**62|i**63|i**64|i**65|i**100|(-i)**127|i**1000|(i+1)**(2**40+1)|3**(i+62)|(-3)**(i*33)|torch.pow(5,i+64)
i.to(torch.int8)**65|i.to(torch.int8)**127|i.to(torch.uint8)**200|i.int()**torch.tensor(64)|i**torch.tensor([64,65,66])
(i-2)**torch.tensor([[70],[-3]])|(i+3)**(i*40)|i.clone().pow_(71)|(i.to(torch.uint8)+2)**(i.to(torch.uint8)+60)
torch.vmap(torch.pow)(i,i+64)
"""
# True and False as operands: Python's are of dtype bool, NumPy's count as the numbers 1.0 and 0.0.
TRUTHS = """
v - True | True - v | i - False | v.sub(True) | torch.sub(v, True) | torch.sub(True, v) | v.sub_(True) | v.__isub__(True)
(v > 2) - True | (v > 2) - 1 | 1 - (v > 2) | torch.rsub(v, True) | torch.rsub(v > 2, 1) | torch._foreach_sub([v], True)
v + True | v * True | (v > 2) + True | (v > 2) * True
v - np.bool_(True) | np.bool_(True) - v | i - np.bool_(True) | torch.sub(v, np.bool_(True)) | (v > 2) - np.bool_(True)
(v > 2) + np.bool_(True) | (v > 2) * np.bool_(True) | v ** np.bool_(True) | (v > 2) & np.bool_(True) | np.bool_(True) ^ (v > 2)
(v > 2).add_(np.bool_(True)) | v.mul_(np.bool_(False)) | (v > 2) == np.bool_(True)
torch.where(v > 2, v, np.bool_(True)) | v.masked_fill(v > 2, np.bool_(True)) | (v > 2).masked_fill(v > 4, np.bool_(False))
"""

FITTING = """
torch.full((2,),1e6,dtype=torch.half)|torch.full((1,),1e6,dtype=torch.half)|torch.full((2,),1e40,dtype=torch.bfloat16)
torch.full((2,),2**40,dtype=torch.int32)|torch.full((1,),1j,dtype=torch.half)|torch.full((2,),1e300+1j,dtype=torch.cfloat)
v.half().fill_(1e6)|v[:1].half().fill_(1e6)|v.fill_(1e300)|v.to(torch.cfloat).fill_(1e300)|m.half().fill_diagonal_(1e6)
v[0]=1e300|v[:]=1e300|v[v>1]=1e300|v[0]=1j|a=v.half(); a[0]=1e6; a|a=v.half(); a[:]=1e6; a|a=v.half(); a[0]=1j|i[0,0]=inf
torch.full((2,),-0.5,dtype=torch.uint8)|torch.full((2,),127.9,dtype=torch.int8)|v.byte().masked_fill(v>1,-1.)
torch.tensor([1.,-1],dtype=torch.uint8)|torch.tensor([1,-1.],dtype=torch.uint8)|torch.tensor([[127.9]],dtype=torch.int8)
torch.tensor([127.,-128.,-1,1.5],dtype=torch.int8)|torch.tensor([nan],dtype=torch.int32)
a=v.char(); a[0]=200|a=v.byte(); a[0]=-3; a|a=v.half(); a[v>1]=1e6; a
v.half().masked_fill(v>1,-1e9)|v.half().masked_fill(v>1,-inf)|v.masked_fill(v>1,1e300)|v.bfloat16().masked_fill(v>1,1e40)
v.half().masked_fill(v>1,True)|i.masked_fill(i>1,1.5)|i.masked_fill(i>1,nan)|v.byte().masked_fill(v>1,-3)
v.half().index_fill(0,i[0,:1]-1,1e6)|v.half().scatter(0,i[0,:1]-1,1e6)|v.scatter(0,i[0,:1]-1,1e300,reduce='add')
v.clamp(0,1e300)|v.clamp(max=inf)|v.half().clamp(max=1e6)|v.half().clamp_min(1e6)|v.half().clamp_(-1e6)|v.byte().clamp(-1,300)
v.byte().clamp(min=-1)|v.char().clamp(max=200)|i.int().clamp(max=1e20)|v.half().clamp_max(1e6)
torch.nn.functional.hardtanh(v.half(),-1e6,1e6)|torch.nn.functional.threshold(v.half(),1e6,0)|torch.nn.functional.threshold(v.char(),1,1000)
torch.nn.functional.hardshrink(v.half(),1e6)|v.half().logit(1e6)|torch.nn.functional.pad(v.half(),(1,1),value=1e6)
torch.nn.functional.pad(v.char(),(1,1),value=1000)|torch.nn.functional.pad(v.byte(),(1,1),value=-1)
v.half().add(v.half(),alpha=1e6)|v.char().add(v.char(),alpha=1000)|v.char().sub(v.char(),alpha=-3)|v.byte().add(v.byte(),alpha=-1)
v.half().pow(1e6)|v.char().pow(1000)|v.pow(1e300)
"""

INNER_LOSSES = """
torch.binary_cross_entropy_with_logits(V,v*0,None,None,1)|torch.binary_cross_entropy_with_logits(V,v*0,None,v,2)
torch.binary_cross_entropy_with_logits(V,v*0)
torch.kl_div(V,v*0,0)|torch.kl_div(V,v,1)|torch.kl_div(V,v,2)|torch.kl_div(V,v,3)|torch.kl_div(V,v,1,log_target=True)|torch.kl_div(V,v)
torch.hinge_embedding_loss(V,v*0-1,4.,1)|torch.hinge_embedding_loss(V,v*0-1)
torch.margin_ranking_loss(V,v,v*0-1,.5,2)|torch.margin_ranking_loss(V,v*2,v*0+1)
torch.poisson_nll_loss(V,v,True,True,1e-8,1)|torch.poisson_nll_loss(V,v,False,False,1e-8,0)
torch.cosine_embedding_loss(M,m*m,torch.tensor([1,-1,1]),.1,1)|torch.cosine_embedding_loss(M,m*m,torch.tensor([1,-1,1]))
torch.triplet_margin_loss(M,m*2,m-1,1.,2.,1e-6,True,2)|torch.triplet_margin_loss(M,m*2,m-1)
"""
INNER = """
torch.manual_seed(0); torch.dropout_(torch.ones(6),.5,True)|torch.manual_seed(0); torch.native_dropout(V,.5,True)[0] * 1
torch.native_dropout(v,.5,False)|torch.native_dropout(v,1.,True)|torch.manual_seed(1); torch.native_dropout(v,.5,None)
torch.manual_seed(0); torch.alpha_dropout_(torch.ones(4),.5,True)
torch.manual_seed(0); torch.feature_dropout_(torch.ones(2,3,2),.5,True)
torch.manual_seed(0); torch.feature_alpha_dropout_(torch.ones(2,3,2),.5,True)|torch.manual_seed(0); torch.rrelu_(-torch.ones(4),.1,.3,True)
torch.rrelu_(-torch.ones(4),.1,.3,True,torch.Generator().manual_seed(3))|torch.nn.functional.elu_(M/4-1,.5,2,3)
torch.nn.functional.rrelu_(m-5,training=True,generator=torch.Generator().manual_seed(3))|torch.nn.functional.elu_(M/4-1,input_scale=3.)
torch.nn.functional.elu_(m*1,scale=2)|torch.nn.functional.elu_(M/4-1,scale=2)|torch.nn.functional.elu_(M*1,1,2,3,4)
torch.chain_matmul(m,m.t(),out=v.new_empty(0))|torch.chain_matmul(m,m.t(),m,out=v.double())|torch.chain_matmul(m,m)
torch.chain_matmul(m)|torch.chain_matmul(M,M.t(),m)|torch.chain_matmul(out=v)|torch.chain_matmul(m,out=v.new_empty(0))
torch.frobenius_norm(M,[0,1]) * 1|torch.frobenius_norm(M,1) * 1|torch.frobenius_norm(m,[])|torch.frobenius_norm(M,1,True) * 1
torch.nuclear_norm(M[1:2])|torch.nuclear_norm(m,True)|torch.nuclear_norm(x,(0,1))|torch.nuclear_norm(x,(0,))
torch.norm_except_dim(X+1,2,0)|torch.norm_except_dim(X+1,2,-1) * 1|torch.norm_except_dim(X+1,2,1)|torch.norm_except_dim(X+1,1,2)
torch.norm_except_dim(V)
torch.embedding_renorm_(m,torch.tensor([1,0,1]),2.,2.)|torch.embedding_renorm_(m,torch.tensor([[2,1]]),1.,1.)
torch.convolution(X[:,:2],torch.ones(2,1,3),None,[1],[1],[1],False,[0],2)
torch.convolution(X[None],torch.ones(2,1,2,2),torch.ones(1),[2,2],[0,0],[1,1],True,[1,1],1)
f = torch.zeros(1); torch._amp_foreach_non_finite_check_and_unscale_([m, v],f,torch.tensor(.5)); (m, v, f)
f = torch.zeros(1); torch._amp_foreach_non_finite_check_and_unscale_([v / 0],f,torch.tensor(.5)); f
m.module_load(torch.ones(3,4))|m.module_load(torch.ones(3,4).requires_grad_(),assign=True)|m.module_load(torch.ones(7))
torch.addmv_(v,torch.eye(5),m[0,:1].expand(5)+1,beta=2)|torch.index_put_(v,(torch.tensor([1]),),torch.tensor(5.))|torch.as_strided_(v,(2,2),(3,1))
torch.is_same_size(M,V)|torch.is_signed(m)|torch.is_inference(m)|torch.is_distributed(m)|torch.get_device(m)
torch.cond(True,lambda x: x * 3,lambda x: x,(V,))|torch.cond(torch.tensor([False]),lambda x: x + 1,lambda x: x - 1,(v,))
torch.cond(m > 0,lambda x: x,lambda x: x,(V,))|torch.cond('a',lambda x: x,lambda x: x,(V,))|torch.cond(True,3,4)
torch.while_loop(lambda x, i: i < 3,lambda x, i: (x + 1, i + 1),(m,torch.tensor(0)))
"""
TOLD = """
torch.sym_int(-3.7)|torch.sym_max(2,3.5)|torch.sym_min(2,3.)|torch.sym_max(2,3)|torch.sym_max(1)|torch.sym_not(5)|torch.sym_sum([1,2])
torch.sym_ite(True,1,2)|torch.sym_ite(1,1,2)|torch.sym_ite(True,1,2.)|torch.sym_sqrt(4)|torch.sym_float(2)
torch.typename(m)|torch.typename(3)|torch.typename(torch.nn.Linear(1,1))|torch.typename(torch.nn.Linear)|torch.typename(torch.Tensor)
torch.typename(i)|torch.typename(len)|torch.typename(torch.float32)|torch.typename([])
torch.matrix_rank(m)|torch.get_device_module('meta')|torch.get_device_module('foo')|torch.get_device_module() is torch.cpu
torch.has_lapack,torch.has_openmp,torch.has_mps,torch.has_cuda,torch.compiled_with_cxx11_abi()
torch.is_anomaly_enabled(),torch.is_anomaly_check_nan_enabled(),torch.is_warn_always_enabled(),torch.is_autocast_cache_enabled()
torch.set_autocast_dtype('cpu',3)|torch.set_autocast_enabled('foo',True)|torch.autocast_increment_nesting(),torch.autocast_decrement_nesting()
torch.ByteStorage.from_buffer(b'abc').tolist()|torch.ByteTensor(torch.ByteStorage.from_buffer(b'abc'))
torch.FloatStorage.from_buffer(b'abcdefgh','native').tolist()|torch.FloatStorage.from_buffer(b'abcdefgh')
torch.FloatStorage.from_buffer(b'abcdefghi','native',2).tolist()|torch.FloatStorage.from_buffer(b'abcdefghi','native',offset=4)
torch.FloatStorage.from_buffer(b'abcdefgh','native',1,4).tolist()|torch.FloatStorage.from_buffer(b'abcdefgh','native',3)
torch.FloatStorage.from_buffer(b'abcdefgh','nat')|torch.ShortStorage.from_buffer(b'ab','big').tolist()
torch.FloatStorage([1,2.5])|torch.FloatStorage([1,2]).double()|torch.FloatStorage([1,2]).type()|torch.FloatStorage(2).fill_(3).tolist()
torch.TypedStorage([1,2],dtype=torch.int32)|torch.FloatStorage(1,2)|torch.UntypedStorage(2.5)|torch.UntypedStorage('ab')
torch.UntypedStorage([1,2,3])|torch.UntypedStorage([1,2,3]).clone().fill_(7)|torch.FloatTensor(torch.IntStorage([1,2]))
torch.FloatTensor(torch.FloatStorage([1,2]))|torch.tensor(torch.FloatStorage([1,2]))|torch.LongTensor(torch.LongStorage([1,2]))
s = torch.UntypedStorage([1,2,3]); s[0] = 9; s[1:] = 8; s.tolist()
s = torch.UntypedStorage(3); s.copy_(torch.UntypedStorage([4,5,6])).tolist()
s = torch.FloatStorage([1,2]); s.copy_(torch.IntStorage([1065353216,0])).tolist()|isinstance(m.storage(),torch.FloatStorage)
isinstance(m.storage(),torch.IntStorage)|torch.FloatStorage|torch.FloatStorage([1,2]).pickle_storage_type()|torch.Storage([1,2])
"""
MEMBERS = """
issubclass(torch.AcceleratorError,RuntimeError),issubclass(torch.FatalError,RuntimeError)|torch.wait(torch.fork(lambda x: x + 1,m))
torch.cuda.memory_cached(),torch.cuda.max_memory_cached()
torch.autograd.is_multithreading_enabled()|torch.nn.functional.has_torch_function((m,)),torch.nn.functional.has_torch_function_unary(m)
s = torch.autograd.set_multithreading_enabled(False); a = torch.autograd.is_multithreading_enabled(); s.__exit__(None, None, None); a
m.apply_(lambda a: a + 1)|m[:,::2].apply_(lambda a: -a)
m.map_(m + 1,lambda a, b: a * b)|m[:,::2].map_(m[:,1::2],lambda a, b: a + b)|m.map_(v,lambda a, b: b)|m.map_(m.long(),lambda a, b: b)
m.map2_(m + 1,v[:4],lambda a, b, c: a + b * c)|m.map2_(m,m.long(),lambda a, b, c: a)|M_leaf.map_(m,lambda a, b: a)|i.map_(i,lambda a, b: b)
m.is_xla,m.is_xpu,m.is_ipu,m.is_maia,m.is_mtia,m.is_vulkan,m.volatile|m.is_distributed()|m.is_same_size(m),m.is_same_size(v)
sorted(torch.optim.Optimizer._group_tensors_by_device_and_dtype([[m, i, v],[m + 1, i, v]],True).items(),key=str)
torch.serialization.MAGIC_NUMBER,torch.serialization.PROTOCOL_VERSION,torch.serialization.DEFAULT_PROTOCOL
torch.serialization.LONG_SIZE,torch.serialization.INT_SIZE,torch.serialization.SHORT_SIZE,torch.serialization.STORAGE_KEY_SEPARATOR
torch.hub.READ_DATA_CHUNK,torch.hub.DEFAULT_CACHE_DIR,torch.hub.ENV_TORCH_HOME,torch.hub.VAR_DEPENDENCY,torch.hub.MODULE_HUBCONF
torch.version.debug,torch.version.rocm,torch.version.xpu
"""
# Each line begins by making two tensors with the same mask.
MASKED_PAIR = (
    "a = torch.masked.masked_tensor(m[:2,:3] - 1,i % 3 != 0); b = torch.masked.masked_tensor(i + 0.5,i % 3 != 0); "
)
MASKED = """
str(a)|str(a + b)|str(a + 1)|str(2 * a)|str(a / b)|str(1 - a)|str(a - m[:2,:3])|str(-a)|str(a.sin())|str(torch.exp(a / 4))
str(a ** 2)|str(1 / b)|str(a // 2)
str(2 ** a)|str(a.sum())|str(a.sum(0))|str(torch.sum(a,1,keepdim=True))|str(a.mean())|str(a.mean(1))|str(a.amax(1))
str(a.amin())|str(a.prod(1))
str(a.argmax(1))|str(a.argmin())|str(a.std())|str(a.var(1))|str((a > 1).all(1))|str(a == b)|str(a > 1)|str(torch.where(i > 3,a,b))
str(a.view(3,2))|str(a.reshape(-1))|str(a.t())|str(a[0])|str(a[0,0])|str(a[:,1])|str(a.unsqueeze(0))|str(a.expand(2,2,3))
str(torch.cat([a,b]))
str(torch.stack([a,b]))|str(a.softmax(1))|str(a.to(torch.float64))|str(a.add_(1))|str(a.bool())|str(torch.clamp(a,0,1))
str(torch.maximum(a,b))
a.to_tensor(7)|a.get_mask()|a.shape,a.dim(),a.dtype,len(a),a.requires_grad|a.tolist()|a.numpy()|str(a.split(1)[1])|str(a.long())
a + torch.masked.masked_tensor(m[:2,:3],i > 3)|torch.masked.masked_tensor(m,m)|torch.masked.masked_tensor(3,i)
torch.masked.masked_tensor(m,v > 3)|torch.masked.masked_tensor(m,i > 3)
torch.masked.masked_tensor(torch.ones(2,3,dtype=torch.cfloat),i > 3)|torch.masked.is_masked_tensor(a)
isinstance(a,torch.Tensor),torch.masked.is_masked_tensor(m)
c = torch.masked.masked_tensor(v,v > 2,requires_grad=True); (c * c).sum().backward(); str(c.grad)
"""

BY_FILE = {
    "shape": {
        "reshape": RESHAPE, "permute": PERMUTE, "broadcast": BROADCAST, "windows": WINDOWS, "join": JOIN, "arrange": ARRANGE,
    },
    "index": {"read": READ, "write": WRITE, "pick": PICK},
    "sort": {"order": ORDER},
    "views": {"views": VIEWS, "shared": SHARED_PLACES, "counted": COUNTED},
    "numbers": {"ranges": RANGES, "fitting": FITTING, "wide": WIDE, "powers": INTEGER_POWERS, "truths": TRUTHS},
    "namespace": {"losses": INNER_LOSSES, "functions": INNER, "told": TOLD, "members": MEMBERS},
    "masked": {"pairs": MASKED},
}  # fmt: skip


def lines(text):
    return [line.strip() for row in text.strip().splitlines() for line in row.split("|")]


def every_line(file):
    begin = MASKED_PAIR if file == "masked" else ""
    return [begin + line for text in BY_FILE[file].values() for line in lines(text)]
